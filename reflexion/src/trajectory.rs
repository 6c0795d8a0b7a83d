use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reflect_types::Message;
use serde::{Serialize, Serializer};

use super::Attempted;

/// One trial as it went: what was asked, done and answered, and when.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Trajectory {
    /// The trial's number, from 1.
    pub trial: u32,
    /// The task, without the memory.
    pub task: String,
    /// Everything said and done in this trial, and in no other.
    pub messages: Vec<Message>,
    /// The texts of the answer.
    pub response: Vec<String>,
    /// Why the trial ended early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// When it began; in JSON, milliseconds since 1970.
    #[serde(serialize_with = "milliseconds")]
    pub started_at: SystemTime,
    /// When it ended, never before it began; in JSON, milliseconds since 1970.
    #[serde(serialize_with = "milliseconds")]
    pub ended_at: SystemTime,
}

impl Trajectory {
    /// A trial that has just been made, without duration.
    ///
    /// Where the actor gave no messages, the task and the answer stand for them.
    pub fn new(trial: u32, task: impl Into<String>, attempted: impl Into<Attempted>) -> Self {
        let (task, attempted, now) = (task.into(), attempted.into(), SystemTime::now());
        let mut messages = attempted.messages;
        if messages.is_empty() {
            let said = attempted.response.iter().map(Message::assistant);
            messages = std::iter::once(Message::user(&task)).chain(said).collect();
        }
        Self {
            trial,
            task,
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

    /// Sets the times. The end is counted from the start, since a clock may be set back in between.
    pub(super) fn timed(mut self, started_at: SystemTime, took: Duration) -> Self {
        self.started_at = started_at;
        self.ended_at = started_at.checked_add(took).unwrap_or(started_at);
        self
    }
}

fn milliseconds<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    to.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
