use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reflect_types::Message;
use serde::{Serialize, Serializer};

use crate::attempt::Attempted;

/// The record of one trial: task, steps, answer and times.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trajectory {
    /// The trial's number, from 1.
    pub trial: u32,
    /// The task, without memories. Several inputs are joined by newlines.
    pub task: String,
    /// The inputs of the task.
    pub inputs: Vec<String>,
    /// The messages of this trial alone.
    pub messages: Vec<Message>,
    /// The texts of the answer.
    pub response: Vec<String>,
    /// Why the trial ended early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// The start time; in JSON, milliseconds since 1970.
    #[serde(serialize_with = "milliseconds")]
    pub started_at: SystemTime,
    /// The end time, never before the start; in JSON, milliseconds since 1970.
    #[serde(serialize_with = "milliseconds")]
    pub ended_at: SystemTime,
}

impl Trajectory {
    /// A trial that starts and ends now.
    ///
    /// Without messages from the actor, the task and the answer are its messages.
    pub fn new(trial: u32, task: impl Into<Task>, attempted: impl Into<Attempted>) -> Self {
        let (task, attempted, now) = (task.into(), attempted.into(), SystemTime::now());
        let text = task.text();
        let mut messages = attempted.messages;
        if messages.is_empty() {
            let answer = attempted.response.iter().map(Message::assistant);
            messages = std::iter::once(Message::user(&text))
                .chain(answer)
                .collect();
        }
        Self {
            trial,
            task: text,
            inputs: task.inputs,
            messages,
            response: attempted.response,
            halted: attempted.halted,
            started_at: now,
            ended_at: now,
        }
    }

    /// The answer: its texts, joined by newlines.
    pub fn answer(&self) -> String {
        self.response.join("\n")
    }

    /// How long the trial took.
    pub fn duration(&self) -> Duration {
        self.ended_at
            .duration_since(self.started_at)
            .unwrap_or_default()
    }

    /// Sets the times. The end is counted from the start, since the system clock may be set back
    /// in between.
    pub(crate) fn timed(mut self, started_at: SystemTime, took: Duration) -> Self {
        self.started_at = started_at;
        self.ended_at = started_at.checked_add(took).unwrap_or(started_at);
        self
    }
}

fn milliseconds<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    to.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// A task for [`Reflexion::run`](crate::Reflexion::run): what the agent is asked to do, and,
/// where that differs, the prompt that asks it.
///
/// The evaluator, the self-reflection and stored traces see the task. Only the actor sees the
/// prompt. Text converts into a task, and so does a list of texts.
///
/// ```
/// use reflexion::Task;
///
/// let plain = Task::from("Refund order 7");
/// let listed = Task::from(["Summarize these notes.", "Note 1: …"]);
/// let augmented = Task::new("Refund order 7").prompt("Refund order 7\n\n<hints>…</hints>");
/// assert_eq!(listed.text(), "Summarize these notes.\nNote 1: …");
/// assert_eq!(augmented.text(), plain.text());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Task {
    /// The inputs, in order; usually one.
    pub inputs: Vec<String>,
    /// The text for the actor instead of the inputs, such as a task with retrieved memories
    /// appended.
    pub prompt: Option<String>,
}

impl Task {
    /// A task with one input.
    pub fn new(input: impl Into<String>) -> Self {
        Self {
            inputs: vec![input.into()],
            prompt: None,
        }
    }

    /// Sets the text that the actor gets instead of the inputs.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<String>) -> Self {
        self.prompt = Some(prompt.into());
        self
    }

    /// The inputs, joined by newlines.
    pub fn text(&self) -> String {
        self.inputs.join("\n")
    }
}

impl From<String> for Task {
    fn from(input: String) -> Self {
        Self::new(input)
    }
}

impl From<&String> for Task {
    fn from(input: &String) -> Self {
        Self::new(input)
    }
}

impl From<&str> for Task {
    fn from(input: &str) -> Self {
        Self::new(input)
    }
}

impl<T: Into<String>> From<Vec<T>> for Task {
    fn from(inputs: Vec<T>) -> Self {
        inputs.into_iter().collect()
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for Task {
    fn from(inputs: [T; N]) -> Self {
        inputs.into_iter().collect()
    }
}

impl<T: Into<String>> FromIterator<T> for Task {
    fn from_iter<I: IntoIterator<Item = T>>(inputs: I) -> Self {
        Self {
            inputs: inputs.into_iter().map(Into::into).collect(),
            prompt: None,
        }
    }
}
