//! Who gives a review.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::validate::{InvalidField, Validate, at_most, not_blank, without_controls};
use crate::verdict::Verdict;

/// Who gives a review: `"human"`, `{"model": "gpt-5.4-mini"}` or `"program"`.
///
/// A person's review replaces a model's or a program's, and a model's a program's; never the other way
/// round.
///
/// As a text it is `human`, `model:gpt-5.4-mini` or `program`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reviewer {
    /// A person.
    #[default]
    Human,
    /// The model of this name.
    Model(String),
    /// The program that ran the agent: a check in its code, an error or a panic.
    Program,
    /// A kind newer than this version. It is read, and never sent.
    Unknown,
}

impl Reviewer {
    /// The longest name of a model, in characters.
    pub const MAX_NAME: usize = 100;

    /// A model. The name is trimmed, shortened to [`MAX_NAME`](Self::MAX_NAME) and stripped of
    /// control characters; an empty one becomes `model`.
    pub fn model(name: &str) -> Self {
        let clean = name.trim().chars().filter(|c| !c.is_control());
        let name: String = clean.take(Self::MAX_NAME).collect();
        let name = name.trim();
        Self::Model(if name.is_empty() { "model" } else { name }.to_owned())
    }

    /// The model's name; `None` if the reviewer is not a model.
    pub fn model_name(&self) -> Option<&str> {
        match self {
            Self::Model(name) => Some(name),
            Self::Human | Self::Program | Self::Unknown => None,
        }
    }
}

impl fmt::Display for Reviewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Human => f.write_str("human"),
            Self::Model(name) => write!(f, "model:{name}"),
            Self::Program => f.write_str("program"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

impl FromStr for Reviewer {
    type Err = InvalidField;

    fn from_str(text: &str) -> Result<Self, InvalidField> {
        let reviewer = match text.split_once(':') {
            None if text == "human" => Self::Human,
            None if text == "program" => Self::Program,
            Some(("model", name)) => Self::Model(name.to_owned()),
            _ => {
                let problem = "must be `human`, `program` or `model:<name>`";
                return Err(InvalidField::new("reviewer", problem));
            }
        };
        reviewer.validate()?;
        Ok(reviewer)
    }
}

impl Validate for Reviewer {
    fn validate(&self) -> Result<(), InvalidField> {
        match self {
            Self::Human | Self::Program => Ok(()),
            Self::Model(name) => {
                not_blank("reviewer", name, "name the model")?;
                at_most("reviewer", name, Self::MAX_NAME)?;
                without_controls("reviewer", name)
            }
            Self::Unknown => Err(InvalidField::new(
                "reviewer",
                "must be `\"human\"`, `\"program\"` or `{\"model\": \"<name>\"}`",
            )),
        }
    }
}

impl Serialize for Reviewer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Model(name) => to.serialize_newtype_variant("Reviewer", 1, "model", name),
            Self::Human | Self::Program | Self::Unknown => to.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Reviewer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Any value is read: a newer version may know other kinds, with other contents.
        Ok(match Value::deserialize(from)? {
            Value::String(kind) if kind == "human" => Self::Human,
            Value::String(kind) if kind == "program" => Self::Program,
            Value::Object(mut kind) if kind.len() == 1 => match kind.remove("model") {
                Some(Value::String(name)) => Self::Model(name),
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        })
    }
}

/// A model's verdict that was withdrawn or overruled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelVerdict {
    /// The model.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::model_name))]
    pub model: String,
    /// Its verdict.
    pub result: Verdict,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json, to_value};

    use super::*;

    #[test]
    fn reviewers_are_tagged_and_those_of_tomorrow_are_read() {
        for (reviewer, wire) in [
            (Reviewer::Human, json!("human")),
            (Reviewer::Program, json!("program")),
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
    fn a_reviewer_is_read_back_from_its_text() {
        for reviewer in [
            Reviewer::Human,
            Reviewer::Program,
            Reviewer::model("m:1"),
            Reviewer::model("program"),
        ] {
            assert_eq!(reviewer.to_string().parse(), Ok(reviewer));
        }
        for text in [
            "",
            "Human",
            "model",
            "model:",
            "model: ",
            "program:x",
            "unknown",
        ] {
            let error = text.parse::<Reviewer>().unwrap_err();
            assert_eq!(error.field, "reviewer", "{text}");
        }
    }

    #[test]
    fn the_name_of_a_model_is_made_fit_to_send() {
        assert_eq!(Reviewer::model(" gpt 5\n"), Reviewer::Model("gpt 5".into()));
        assert_eq!(Reviewer::model("\n"), Reviewer::Model("model".into()));
        assert!(Reviewer::model(&"x ".repeat(500)).validate().is_ok());
        for name in ["", " ", "a\nb", &"x".repeat(101)] {
            assert!(Reviewer::Model(name.to_owned()).validate().is_err());
        }
    }
}
