use reflect_types::{Review, TraceId, Trajectory, Verdict};
use serde_json::Value;

use super::handle::TraceHandle;
use super::output::{TraceOutput, output_options};

/// What a traced function returns: the output for its caller, and what is recorded of the run.
///
/// ```
/// use reflect_sdk::{Message, TraceResult};
///
/// fn answer(question: &str) -> TraceResult {
///     let reply = question.to_uppercase();
///     let messages = vec![Message::user(question), Message::assistant(&reply)];
///     TraceResult::new(reply, messages).pass().model("gpt-5.4-mini")
/// }
/// assert_eq!(answer("why?").output, "WHY?");
/// ```
#[derive(Clone, Debug)]
#[must_use = "the output is in its field `output`; nothing is recorded outside of a traced run"]
#[non_exhaustive]
pub struct TraceResult<T = String> {
    /// What the caller gets.
    pub output: T,
    pub(super) record: TraceOutput,
    pub(super) handle: Option<TraceHandle>,
}

impl<T> TraceResult<T> {
    /// An output, and all that was said and done to get it.
    pub fn new(output: T, trajectory: impl Into<Trajectory>) -> Self {
        Self::with(output, TraceOutput::new(trajectory))
    }

    /// An output, got in the way that [`record`](super::TraceContext::record) was told.
    pub fn recorded(output: T) -> Self {
        Self::with(output, TraceOutput::recorded())
    }

    /// An output, and what is recorded of the run.
    pub fn with(output: T, record: TraceOutput) -> Self {
        Self {
            output,
            record,
            handle: None,
        }
    }

    /// What becomes of the run; `None` before the traced function has returned.
    pub fn handle(&self) -> Option<&TraceHandle> {
        self.handle.as_ref()
    }

    /// The stored trace, once it is known.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.handle.as_ref().and_then(TraceHandle::trace_id)
    }

    fn output_mut(&mut self) -> &mut TraceOutput {
        &mut self.record
    }
}

output_options!(impl[T] TraceResult<T>);

/// A text that is both what was done and what came of it.
impl From<String> for TraceResult {
    fn from(text: String) -> Self {
        let record = TraceOutput::text(&text);
        Self::with(text, record)
    }
}

/// A text that is both what was done and what came of it.
impl From<&str> for TraceResult {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
