use reflect_types::{Content, Memory, Message, Role};
use serde_json::Value;

use crate::hooks::RunId;
use crate::self_reflection::MemoryEntry;
use crate::trajectory::Trajectory;

/// The input of an [`Actor`](crate::Actor) for one trial.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Attempt {
    /// The run that the trial is part of.
    pub run_id: RunId,
    /// The trial's number, from 1.
    pub trial: u32,
    /// The task as given to [`run`](crate::Reflexion::run), without memories. Several inputs are
    /// joined by newlines.
    pub task: String,
    /// The inputs of the task.
    pub inputs: Vec<String>,
    /// Memories of earlier runs, best first; the same in every trial. See `recall` of the builder
    /// (feature `memory`).
    pub recalled: Vec<Memory>,
    /// Reflections on failed trials, oldest first, as many as the episodic memory holds.
    pub memory: Vec<MemoryEntry>,
    /// The previous trial, under [`TrialContext::LastAttempt`](crate::TrialContext::LastAttempt).
    pub previous: Option<Trajectory>,
    /// The prompt for the model: recalled memories, reflections, then the task or its own prompt.
    /// With nothing to recall or remember, it is the task byte for byte.
    pub prompt: String,
}

/// The result of one attempt by an [`Actor`](crate::Actor): the steps taken and the answer.
///
/// A `String` or `&str` converts into an answer without steps; a `Vec<Message>` into the steps,
/// with the text of the last assistant message as the answer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Attempted {
    /// The messages of the attempt, tool calls included; may be empty.
    pub messages: Vec<Message>,
    /// The texts of the answer; may be empty.
    pub response: Vec<String>,
    /// Why the attempt ended without an answer to evaluate.
    pub halted: Option<String>,
}

impl Attempted {
    /// An answer, with the messages that led to it.
    pub fn new(messages: Vec<Message>, response: impl Into<String>) -> Self {
        Self {
            messages,
            response: vec![response.into()],
            halted: None,
        }
    }

    /// A failed trial, such as one that reached a step limit. The evaluator is not called; the
    /// reason is the feedback. An `Err` from the actor ends the whole run instead.
    pub fn halted(reason: impl Into<String>) -> Self {
        Self {
            halted: Some(reason.into()),
            ..Self::default()
        }
    }

    /// Sets the messages.
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
        let mut newest_first = messages.iter().rev();
        let last = newest_first.find(|message| message.is(&Role::Assistant));
        let response = last.map(texts).unwrap_or_default();
        Self {
            messages,
            response,
            halted: None,
        }
    }
}

/// The texts of a message, one per non-empty part.
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
