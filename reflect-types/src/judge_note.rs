//! The note about a model in a review's feedback, for clients that do not know the field `reviewer`.

use std::fmt;

use crate::review::{Review, ReviewRecord};
use crate::reviewer::{ModelVerdict, Reviewer, with_note, without_note};
use crate::trace::Trace;

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
        let rest = self.note().and_then(|note| without_note(&note, text));
        match rest {
            Some("") => None,
            Some(rest) => Some(rest),
            None => Some(text),
        }
    }

    /// The note about the model that gave the review, or whose verdict it replaced.
    fn note(&self) -> Option<String> {
        let own = self.reviewer.as_ref().and_then(Reviewer::note);
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
                let text = review.feedback_text.as_deref();
                review.feedback_text = Some(with_note(note, text));
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::verdict::Verdict;

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
    fn the_words_of_a_person_are_not_a_note() {
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
