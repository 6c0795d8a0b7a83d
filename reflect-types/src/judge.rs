//! How a review says that a model gave it. The note stands at the beginning of the feedback, the one
//! field that every server stores and every client shows, so it is never lost on the way.

use std::fmt;

use crate::review::{Review, ReviewRecord, Verdict};

/// The model behind a review, or the one that a person has judged after.
///
/// ```
/// use reflect_types::{Review, Verdict};
///
/// let review = Review::fail("The total is wrong").judged_by("gpt-5.4-mini");
/// assert_eq!(review.feedback_text.as_deref(), Some("[judge gpt-5.4-mini] The total is wrong"));
/// assert_eq!(review.alpha, Some(0.1));
///
/// let later = Review::pass().after_judge("gpt-5.4-mini", Verdict::Fail);
/// assert_eq!(later.feedback_text.as_deref(), Some("[judge gpt-5.4-mini said fail]"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JudgeNote {
    /// Names the model.
    pub judge: String,
    /// What the model said of a run that a person has judged since; `None` where the review is the
    /// model's own.
    pub said: Option<Verdict>,
}

impl JudgeNote {
    /// The note of a model's own review. What cannot stand in a note is left out of the name.
    pub fn new(judge: &str) -> Self {
        let fit = |c: char| !(c.is_whitespace() || c.is_control() || matches!(c, '[' | ']'));
        let name: String = judge.chars().filter(|c| fit(*c)).take(100).collect();
        Self {
            judge: if name.is_empty() {
                "model".to_owned()
            } else {
                name
            },
            said: None,
        }
    }

    /// The note at the beginning of a feedback, and what follows it.
    pub fn read(feedback: &str) -> Option<(Self, &str)> {
        let (note, rest) = feedback.strip_prefix("[judge ")?.split_once(']')?;
        let (judge, said) = match note.split_once(" said ") {
            Some((judge, verdict)) => (judge, Some(verdict.parse().ok()?)),
            None => (note, None),
        };
        let note = Self {
            said,
            ..Self::new(judge)
        };
        (note.judge == judge).then(|| (note, rest.trim_start()))
    }

    /// Whether the review is the model's own.
    pub fn is_own(&self) -> bool {
        self.said.is_none()
    }

    fn before(&self, feedback: Option<&str>) -> String {
        let text = feedback.map_or("", bare);
        if text.is_empty() {
            return self.to_string();
        }
        format!("{self} {text}")
    }
}

impl fmt::Display for JudgeNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.said {
            Some(verdict) => write!(f, "[judge {} said {verdict}]", self.judge),
            None => write!(f, "[judge {}]", self.judge),
        }
    }
}

impl Review {
    /// How far a model's review moves the memories when nothing else is said.
    pub const JUDGE_ALPHA: f64 = 0.1;

    /// Says that a model gave this review. It moves the memories by [`Review::JUDGE_ALPHA`], unless
    /// it says how far already.
    #[must_use]
    pub fn judged_by(mut self, judge: &str) -> Self {
        let note = JudgeNote::new(judge);
        self.feedback_text = Some(note.before(self.feedback_text.as_deref()));
        self.alpha = self.alpha.or(Some(Self::JUDGE_ALPHA));
        self
    }

    /// Says that a person gave this review, and what a model had said before.
    #[must_use]
    pub fn after_judge(mut self, judge: &str, said: Verdict) -> Self {
        let note = JudgeNote {
            said: Some(said),
            ..JudgeNote::new(judge)
        };
        self.feedback_text = Some(note.before(self.feedback_text.as_deref()));
        self
    }

    /// The model that gave this review, or that had judged before.
    pub fn judge(&self) -> Option<JudgeNote> {
        note(self.feedback_text.as_deref())
    }
}

impl ReviewRecord {
    /// The model that gave this review, or that had judged before.
    pub fn judge(&self) -> Option<JudgeNote> {
        note(self.feedback_text.as_deref())
    }
}

/// A feedback without the note of a judge.
pub(crate) fn bare(feedback: &str) -> &str {
    JudgeNote::read(feedback).map_or(feedback, |(_, rest)| rest)
}

/// A feedback without the note of a judge; `None` where nothing is left.
pub fn feedback_without_note(feedback: Option<&str>) -> Option<&str> {
    feedback.map(bare).filter(|text| !text.trim().is_empty())
}

fn note(feedback: Option<&str>) -> Option<JudgeNote> {
    JudgeNote::read(feedback?).map(|(note, _)| note)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_second_note_takes_the_place_of_the_first() {
        let review = Review::fail("no").judged_by("a").judged_by("b");
        assert_eq!(review.feedback_text.as_deref(), Some("[judge b] no"));
        let person = review.after_judge("b", Verdict::Fail);
        assert_eq!(
            person.feedback_text.as_deref(),
            Some("[judge b said fail] no")
        );
        assert!(!person.judge().unwrap().is_own());
    }

    #[test]
    fn a_person_s_words_are_no_note() {
        for text in [
            "",
            "[judge",
            "[judge ]",
            "[judge x y] z",
            "[judge a said maybe]",
            "ok",
        ] {
            assert_eq!(JudgeNote::read(text), None, "{text}");
            let left = Some(text).filter(|text| !text.is_empty());
            assert_eq!(feedback_without_note(Some(text)), left);
        }
    }

    proptest! {
        #[test]
        fn any_judge_and_any_feedback_come_back(judge: String, text in "[^\\[\\s].*") {
            let review = Review::fail(text.as_str()).judged_by(&judge);
            let feedback = review.feedback_text.unwrap();
            let (note, rest) = JudgeNote::read(&feedback).unwrap();
            prop_assert_eq!(note, JudgeNote::new(&judge));
            prop_assert_eq!(rest, text.as_str());
        }
    }
}
