//! Who gives a review, and the note that tells clients without that field.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::review::{Review, ReviewRecord, Verdict};
use crate::trace::Trace;
use crate::validate::{InvalidField, Validate, at_most, not_blank};

/// Who gives a review: `"human"`, or `{"model": "gpt-5.4-mini"}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reviewer {
    /// A person, or a program that speaks for one.
    #[default]
    Human,
    /// The model of this name.
    Model(String),
    /// A kind newer than this version. It is read, and never sent.
    Unknown,
}

impl Reviewer {
    /// The longest name of a model, in characters.
    pub const MAX_NAME: usize = 100;

    /// A model. The name is trimmed, shortened to [`MAX_NAME`](Self::MAX_NAME) and freed of control
    /// characters; an empty one becomes `model`.
    pub fn model(name: &str) -> Self {
        let clean = name.trim().chars().filter(|c| !c.is_control());
        let name: String = clean.take(Self::MAX_NAME).collect();
        let name = name.trim();
        Self::Model(if name.is_empty() { "model" } else { name }.to_owned())
    }

    /// The model's name; `None` if the reviewer is no model.
    pub fn model_name(&self) -> Option<&str> {
        match self {
            Self::Model(name) => Some(name),
            Self::Human | Self::Unknown => None,
        }
    }
}

impl Validate for Reviewer {
    fn validate(&self) -> Result<(), InvalidField> {
        match self {
            Self::Human => Ok(()),
            Self::Model(name) => {
                not_blank("reviewer", name, "name the model")?;
                at_most("reviewer", name, Self::MAX_NAME)?;
                if name.chars().any(char::is_control) {
                    let problem = "must not have control characters in the model's name";
                    return Err(InvalidField::new("reviewer", problem));
                }
                Ok(())
            }
            Self::Unknown => Err(InvalidField::new(
                "reviewer",
                "must be `\"human\"` or `{\"model\": \"<name>\"}`",
            )),
        }
    }
}

impl Serialize for Reviewer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Human => to.serialize_str("human"),
            Self::Model(name) => to.serialize_newtype_variant("Reviewer", 1, "model", name),
            Self::Unknown => to.serialize_str("unknown"),
        }
    }
}

impl<'de> Deserialize<'de> for Reviewer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Any value is read: a newer version may know other kinds, with other contents.
        Ok(match Value::deserialize(from)? {
            Value::String(kind) if kind == "human" => Self::Human,
            Value::Object(mut kind) if kind.len() == 1 => match kind.remove("model") {
                Some(Value::String(name)) => Self::Model(name),
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        })
    }
}

/// The verdict of a model whose review no longer stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelVerdict {
    /// The model.
    pub model: String,
    /// Its verdict.
    pub result: Verdict,
}

/// `[judge <model> said <verdict>]`.
impl fmt::Display for ModelVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[judge {} said {}]", self.model, self.result)
    }
}

impl Review {
    /// The learning rate of a model's review that sets none.
    pub const JUDGE_ALPHA: f64 = 0.1;

    /// Names the model that gives this review. Its learning rate becomes [`Review::JUDGE_ALPHA`],
    /// unless it is set.
    ///
    /// ```
    /// use reflect_types::{Review, Reviewer};
    ///
    /// let review = Review::fail("The total is wrong").judged_by("gpt-5.4-mini");
    /// assert_eq!(review.reviewer, Reviewer::Model("gpt-5.4-mini".to_owned()));
    /// assert_eq!(review.alpha, Some(0.1));
    /// ```
    #[must_use]
    pub fn judged_by(mut self, model: &str) -> Self {
        self.reviewer = Reviewer::model(model);
        self.alpha = self.alpha.or(Some(Self::JUDGE_ALPHA));
        self
    }
}

impl ReviewRecord {
    /// The model that gave the review; `None` if a person did.
    pub fn model(&self) -> Option<&str> {
        self.reviewer.as_ref()?.model_name()
    }

    /// The feedback as the reviewer gave it: [`feedback_text`](Self::feedback_text) without the
    /// note about a model.
    pub fn comment(&self) -> Option<&str> {
        let text = self.feedback_text.as_deref()?;
        let rest = self.note().and_then(|note| {
            let rest = text.strip_prefix(&note)?;
            if rest.is_empty() {
                return Some(rest);
            }
            rest.strip_prefix(' ')
        });
        match rest {
            Some("") => None,
            Some(rest) => Some(rest),
            None => Some(text),
        }
    }

    /// The note about the model that gave the review, or whose verdict it replaced.
    fn note(&self) -> Option<String> {
        let own = self.model().map(|model| format!("[judge {model}]"));
        own.or_else(|| self.overruled.as_ref().map(ToString::to_string))
    }
}

impl Trace {
    /// The trace as it is replied: the reviewer is also named in the texts that clients read which
    /// do not know the fields.
    #[must_use]
    pub fn with_judge_notes(mut self) -> Self {
        self.judge_note = self.withdrawn_verdict.as_ref().map(ToString::to_string);
        if let Some(review) = &mut self.review {
            if let Some(note) = review.note() {
                review.feedback_text = Some(match review.feedback_text.as_deref() {
                    None | Some("") => note,
                    Some(text) => format!("{note} {text}"),
                });
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{from_str, json, to_value};

    use super::*;

    fn record(text: Option<&str>, reviewer: &Reviewer, overruled: Option<&ModelVerdict>) -> Trace {
        let trace = json!({
            "id": "t", "task": "t", "review_status": "reviewed",
            "review": {
                "id": "r", "trace_id": "t", "result": "fail", "feedback_text": text,
                "reviewer": reviewer, "overruled": overruled,
            },
        });
        serde_json::from_value(trace).unwrap()
    }

    fn said(result: Verdict) -> ModelVerdict {
        ModelVerdict {
            model: "m".to_owned(),
            result,
        }
    }

    #[test]
    fn reviewers_are_tagged_and_those_of_tomorrow_are_read() {
        for (reviewer, wire) in [
            (Reviewer::Human, json!("human")),
            (Reviewer::Model("m".to_owned()), json!({"model": "m"})),
        ] {
            assert_eq!(to_value(&reviewer).unwrap(), wire);
            assert_eq!(serde_json::from_value::<Reviewer>(wire).unwrap(), reviewer);
        }
        for wire in [
            r#""committee""#,
            r#"{"committee": ["a"]}"#,
            r#"{"model": {"name": "m"}}"#,
            "7",
        ] {
            let reviewer: Reviewer = from_str(wire).unwrap();
            assert_eq!(reviewer, Reviewer::Unknown, "{wire}");
            assert_eq!(reviewer.validate().unwrap_err().field, "reviewer");
        }
    }

    #[test]
    fn a_model_s_name_is_made_fit_to_send() {
        assert_eq!(Reviewer::model(" gpt 5\n"), Reviewer::Model("gpt 5".into()));
        assert_eq!(Reviewer::model("\n"), Reviewer::Model("model".into()));
        assert!(Reviewer::model(&"x ".repeat(500)).validate().is_ok());
        for name in ["", " ", "a\nb", &"x".repeat(101)] {
            assert!(Reviewer::Model(name.to_owned()).validate().is_err());
        }
    }

    #[test]
    fn notes_are_rendered_from_the_reviewer() {
        let model = || Reviewer::model("m");
        let person = Reviewer::Human;
        for (text, reviewer, overruled, shown) in [
            (Some("no"), model(), None, Some("[judge m] no")),
            (None, model(), None, Some("[judge m]")),
            (Some("no"), person.clone(), None, Some("no")),
            (
                Some("no"),
                person.clone(),
                Some(said(Verdict::Pass)),
                Some("[judge m said pass] no"),
            ),
            (None, person, None, None),
        ] {
            let noted = record(text, &reviewer, overruled.as_ref()).with_judge_notes();
            let review = noted.review.unwrap();
            assert_eq!(review.feedback_text.as_deref(), shown);
            assert_eq!(review.comment(), text);
        }
        let mut withdrawn = record(None, &Reviewer::Human, None);
        withdrawn.withdrawn_verdict = Some(said(Verdict::Fail));
        let note = withdrawn.with_judge_notes().judge_note;
        assert_eq!(note.as_deref(), Some("[judge m said fail]"));
    }

    #[test]
    fn a_person_s_words_are_no_note() {
        for text in ["[judge m]", "[judge m] fine", "[judge m said pass] fine"] {
            let noted = record(Some(text), &Reviewer::Human, None).with_judge_notes();
            let review = noted.review.unwrap();
            assert_eq!((review.model(), review.comment()), (None, Some(text)));
        }
    }

    proptest! {
        #[test]
        fn any_comment_comes_back(name: String, text in "(?s).+") {
            let noted = record(Some(&text), &Reviewer::model(&name), None).with_judge_notes();
            let review = noted.review.unwrap();
            prop_assert_eq!(review.comment(), Some(text.as_str()));
        }
    }
}
