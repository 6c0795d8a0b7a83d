use reflect_types::{Content, Memory, Message};
use serde_json::Value;

use super::{MemoryEntry, Trajectory};

/// What an [`Actor`](super::Actor) gets for one trial.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// The trial's number, from 1.
    pub trial: u32,
    /// The task as it was given to [`run`](super::Reflexion::run).
    pub task: String,
    /// What earlier runs taught, best first; the same in every trial of a run. See
    /// [`recall`](super::ReflexionBuilder::recall).
    pub recalled: Vec<Memory>,
    /// What was learned from failed trials, oldest first, as much of it as the memory holds.
    pub memory: Vec<MemoryEntry>,
    /// The trial before this one, under [`TrialContext::LastAttempt`](super::TrialContext).
    pub previous: Option<Trajectory>,
    /// What to put to the model: what was recalled, the memory, then the task. With nothing to
    /// remember, it is the task, byte for byte.
    pub prompt: String,
}

/// What an [`Actor`](super::Actor) gives back: what it did and what it answers.
///
/// A `String` or `&str` is an answer with nothing else to tell; a `Vec<Message>` is a whole run, and
/// the text of its last assistant message the answer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Attempted {
    /// Everything said and done, tool calls included; may be empty.
    pub messages: Vec<Message>,
    /// The texts of the answer; no text at all is an answer too.
    pub response: Vec<String>,
    /// Why the trial ended without an answer that is worth judging.
    pub halted: Option<String>,
}

impl Attempted {
    /// An answer, with everything said and done on the way.
    pub fn new(messages: Vec<Message>, response: impl Into<String>) -> Self {
        Self {
            messages,
            response: vec![response.into()],
            halted: None,
        }
    }

    /// The trial failed for this reason, such as a limit on steps: the evaluator is not asked, the
    /// reason is the feedback. (An `Err` from the actor ends the whole run instead.)
    pub fn halted(reason: impl Into<String>) -> Self {
        Self {
            halted: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Sets everything said and done.
    #[must_use]
    pub fn messages(mut self, messages: Vec<Message>) -> Self {
        self.messages = messages;
        self
    }

    /// Sets the texts of the answer.
    #[must_use]
    pub fn response<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        self.response = texts.into_iter().map(Into::into).collect();
        self
    }
}

impl From<String> for Attempted {
    fn from(text: String) -> Self {
        Self::new(Vec::new(), text)
    }
}

impl From<&str> for Attempted {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Vec<Message>> for Attempted {
    fn from(messages: Vec<Message>) -> Self {
        let last = messages
            .iter()
            .rev()
            .find(|message| message.is(&reflect_types::Role::Assistant));
        let response = last.map(texts).unwrap_or_default();
        Self {
            messages,
            response,
            halted: None,
        }
    }
}

/// The texts of a message, one for each of its parts that has any.
pub(crate) fn texts(message: &Message) -> Vec<String> {
    let texts: Vec<&str> = match &message.content {
        Some(Content::Text(text)) => vec![text],
        Some(Content::Parts(parts)) => parts.iter().filter_map(part_text).collect(),
        Some(Content::Null) | None => Vec::new(),
    };
    texts
        .into_iter()
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
        .collect()
}

fn part_text(part: &Value) -> Option<&str> {
    part.as_str().or_else(|| part.get("text")?.as_str())
}
