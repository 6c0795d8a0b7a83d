//! The ways to sit the exam.

use reflect_sdk::{BoxError, Message, PromptStyle, ReflectClient, Review, Verdict};

use crate::model::Model;
use crate::questions::Questions;

/// What the model is given besides the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    Alone,
    Full,
    Compact,
}

impl Arm {
    pub(crate) const ALL: [Self; 3] = [Self::Alone, Self::Full, Self::Compact];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Full => "full",
            Self::Compact => "compact",
        }
    }

    /// Answers the questions in order; returns which answers were right.
    pub(crate) async fn sit(
        self,
        model: &Model,
        questions: &Questions,
        answered: impl Fn(),
    ) -> Result<Vec<bool>, BoxError> {
        let folder = tempfile::tempdir()?;
        let reflect = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;
        let mut marks = Vec::new();
        for question in &questions.messages {
            let (prompt, given) = match self {
                Self::Alone => (question.text.clone(), Vec::new()),
                Self::Full | Self::Compact => {
                    let query = reflect.augment_with_memories(&question.text).limit(3);
                    let style = if self == Self::Full {
                        PromptStyle::Full
                    } else {
                        PromptStyle::Compact
                    };
                    let augmented = query.style(style).await?;
                    let ids = augmented.memory_ids();
                    (augmented.augmented_task, ids)
                }
            };
            let answer = model.topic_of(&prompt, &questions.topics).await?;
            let is_right = answer == question.topic;
            if self != Self::Alone {
                let messages = vec![Message::user(&prompt), Message::assistant(&answer)];
                let trace = reflect
                    .create_trace_and_wait(&question.text, messages)
                    .retrieved(given)
                    .model(model.name());
                let verdict = if is_right {
                    Verdict::Pass
                } else {
                    Verdict::Fail
                };
                let feedback = format!("The topic is {}.", question.topic);
                trace
                    .review(Review::new(verdict).feedback(feedback))
                    .await?;
            }
            marks.push(is_right);
            answered();
        }
        Ok(marks)
    }
}
