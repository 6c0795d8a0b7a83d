use reflect_types::{Review, TraceId, Trajectory, Verdict};
use serde_json::Value;

use super::handle::TraceHandle;
use super::output::{TraceOutput, output_options};

/// The return value of a traced function: the output for its caller, and the record of the run.
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
    /// The output for the caller.
    pub output: T,
    pub(super) record: TraceOutput,
    pub(super) handle: Option<TraceHandle>,
}

impl<T> TraceResult<T> {
    /// An output with the trajectory that led to it.
    pub fn new(output: T, trajectory: impl Into<Trajectory>) -> Self {
        Self::with(output, TraceOutput::new(trajectory))
    }

    /// An output with the messages that were [recorded](super::TraceContext::record) during the run.
    pub fn recorded(output: T) -> Self {
        Self::with(output, TraceOutput::recorded())
    }

    /// An output and the record of the run.
    pub fn with(output: T, record: TraceOutput) -> Self {
        Self {
            output,
            record,
            handle: None,
        }
    }

    /// The handle of the run; `None` before the traced function has returned.
    pub fn handle(&self) -> Option<&TraceHandle> {
        self.handle.as_ref()
    }

    /// The ID of the trace; `None` until it is stored.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.handle.as_ref().and_then(TraceHandle::trace_id)
    }

    fn set<V>(
        mut self,
        option: &'static str,
        value: impl FnOnce() -> V,
        set: impl FnOnce(&mut TraceOutput, V),
    ) -> Self {
        self.record.set_mut(option, value, set);
        self
    }
}

output_options!(impl[T] TraceResult<T>);

/// A text as output, trajectory and final response.
impl From<String> for TraceResult {
    fn from(text: String) -> Self {
        let record = TraceOutput::text(&text);
        Self::with(text, record)
    }
}

/// A text as output, trajectory and final response.
impl From<&str> for TraceResult {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
