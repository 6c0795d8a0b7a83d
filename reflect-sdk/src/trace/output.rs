use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use reflect_types::{
    AuthoredReflection, Metadata, Review, Reviewer, TraceId, Trajectory, Usage, Verdict,
};
use serde_json::Value;

use super::handle::TraceHandle;

/// The output of a run; see [`TraceGuard::set_output`](super::TraceGuard::set_output).
///
/// ```
/// use reflect_sdk::{Message, TraceOutput};
///
/// let messages = vec![Message::user("Refund order 7"), Message::assistant("Refunded.")];
/// let judged = TraceOutput::new(messages).fail("Order 7 was outside the refund window");
/// let deferred = TraceOutput::new("Refunded.").model("gpt-5.4-mini").metadata("customer", "acme");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "it is recorded only when it is given to `set_output`, or returned"]
pub struct TraceOutput {
    /// `None` for the messages recorded during the run.
    pub(super) trajectory: Option<Trajectory>,
    pub(super) final_response: Option<String>,
    pub(super) verdict: Option<Verdict>,
    pub(super) feedback: Option<String>,
    pub(super) reviewer: Reviewer,
    /// Boxed, because most outputs have none.
    pub(super) reflection: Option<Box<AuthoredReflection>>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) metadata: Metadata,
    pub(super) task: Option<String>,
    pub(super) alpha: Option<f64>,
}

impl TraceOutput {
    /// An output with this trajectory and no verdict.
    pub fn new(trajectory: impl Into<Trajectory>) -> Self {
        Self {
            trajectory: Some(trajectory.into()),
            ..Self::default()
        }
    }

    /// An output with the messages that were [recorded](super::TraceContext::record) during the run,
    /// and no verdict.
    pub fn recorded() -> Self {
        Self::default()
    }

    /// A text as both trajectory and final response.
    pub(super) fn text(text: &str) -> Self {
        Self::new(text).final_response(text)
    }

    fn output_mut(&mut self) -> &mut Self {
        self
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        if self.reviewer != Reviewer::Human {
            // The caller overrules a model, whose words and learning rate are not the caller's.
            self.reviewer = Reviewer::Human;
            (self.feedback, self.alpha, self.reflection) = (None, None, None);
        }
        self.verdict = Some(verdict);
    }
}

/// The options that [`TraceOutput`] and [`TraceResult`] share.
macro_rules! output_options {
    (impl[$($generic:tt)*] $type:ty) => {
        impl<$($generic)*> $type {
            /// Sets the verdict: the run passed.
            pub fn pass(self) -> Self {
                self.verdict(Verdict::Pass)
            }

            /// Sets the verdict: the run failed. Specific feedback makes a better memory.
            pub fn fail(self, feedback: impl Into<String>) -> Self {
                self.verdict(Verdict::Fail).feedback(feedback)
            }

            /// Sets the verdict. Without one, the run can be reviewed later. It replaces a model's
            /// [`review`](Self::review).
            pub fn verdict(mut self, verdict: Verdict) -> Self {
                self.output_mut().set_verdict(verdict);
                self
            }

            /// Sets the feedback, which goes with a verdict.
            pub fn feedback(mut self, text: impl Into<String>) -> Self {
                self.output_mut().feedback = Some(text.into());
                self
            }

            /// Sets the review as a whole, with its reflection if it has one.
            pub fn review(mut self, review: impl Into<Review>) -> Self {
                let (review, output) = (review.into(), self.output_mut());
                output.verdict = Some(review.result);
                output.feedback = review.feedback_text;
                output.reflection = review.reflection.map(Box::new);
                output.alpha = review.alpha;
                output.reviewer = review.reviewer;
                self
            }

            /// Sets the model.
            pub fn model(mut self, model: impl Into<String>) -> Self {
                self.output_mut().model = Some(model.into());
                self
            }

            /// Sets the tokens that the run has read and written, in all its calls of models. The report sums
            /// them by model, with and without memories.
            pub fn usage(mut self, input_tokens: u64, output_tokens: u64) -> Self {
                self.output_mut().usage = Some(Usage::new(input_tokens, output_tokens));
                self
            }

            /// Adds to the metadata, which the memory inherits.
            pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
                self.output_mut().metadata.insert(key.into(), value.into());
                self
            }

            /// Replaces the task, under which the memory is found.
            pub fn task(mut self, task: impl Into<String>) -> Self {
                self.output_mut().task = Some(task.into());
                self
            }

            /// Sets how far the review moves the utility of the retrieved memories, from 0 to 1. It
            /// goes with a verdict.
            pub fn alpha(mut self, alpha: f64) -> Self {
                self.output_mut().alpha = Some(alpha);
                self
            }

            /// Sets the final response; by default the last assistant message.
            pub fn final_response(mut self, response: impl Into<String>) -> Self {
                self.output_mut().final_response = Some(response.into());
                self
            }
        }
    };
}

output_options!(impl[] TraceOutput);
output_options!(impl[T] TraceResult<T>);

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
    record: TraceOutput,
    handle: Option<TraceHandle>,
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

    fn output_mut(&mut self) -> &mut TraceOutput {
        &mut self.record
    }
}

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

/// A return type of a traced function.
///
/// A text is both trajectory and final response, without a verdict. A [`TraceResult`] has its own
/// record. An `Err` is a failed run, and a `None` is a run that is not recorded.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned from a traced function",
    label = "return a `String`, a `TraceResult<T>`, or a `Result<_, E>` or an `Option<_>` of those",
    note = "wrap the value: `TraceResult::new(value, messages)`",
    note = "the `E` of a `Result<_, E>` must implement `Display`",
    note = "if it is an alias of a boxed future, add the option: `#[reflect_trace(future)]`"
)]
pub trait TraceReturn: Sized {
    /// What the caller of the traced function gets.
    type Output;

    /// The record of the run.
    fn record(&self) -> TraceRecord;

    /// Receives the handle of the run, before [`into_output`](Self::into_output).
    fn attach(&mut self, handle: &TraceHandle) {
        let _ = handle;
    }

    /// The part for the caller.
    fn into_output(self) -> Self::Output;
}

/// The record of a run, as the return value of its body tells it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TraceRecord {
    /// An output.
    Output(TraceOutput),
    /// An error: the run failed, with this feedback.
    Error(String),
    /// Nothing to record.
    Nothing,
}

/// `TraceReturn<Output = V>` as one bound. Where the type of a signature is no `TraceReturn`, `V` is an
/// error too, and the compiler reports only the first.
pub trait ReturnValue<V>: TraceReturn {
    /// The part for the caller.
    fn into_value(self) -> V;
}

impl<R: TraceReturn> ReturnValue<R::Output> for R {
    #[inline]
    fn into_value(self) -> R::Output {
        self.into_output()
    }
}

impl<T> TraceReturn for TraceResult<T> {
    type Output = T;

    fn record(&self) -> TraceRecord {
        TraceRecord::Output(self.record.clone())
    }

    fn attach(&mut self, handle: &TraceHandle) {
        self.handle = Some(handle.clone());
    }

    fn into_output(self) -> T {
        self.output
    }
}

impl<R: TraceReturn, E: Display> TraceReturn for Result<R, E> {
    type Output = Result<R::Output, E>;

    fn record(&self) -> TraceRecord {
        match self {
            Ok(value) => value.record(),
            Err(error) => TraceRecord::Error(error.to_string()),
        }
    }

    fn attach(&mut self, handle: &TraceHandle) {
        if let Ok(value) = self {
            value.attach(handle);
        }
    }

    fn into_output(self) -> Self::Output {
        self.map(R::into_output)
    }
}

impl<R: TraceReturn> TraceReturn for Option<R> {
    type Output = Option<R::Output>;

    fn record(&self) -> TraceRecord {
        self.as_ref().map_or(TraceRecord::Nothing, R::record)
    }

    fn attach(&mut self, handle: &TraceHandle) {
        if let Some(value) = self {
            value.attach(handle);
        }
    }

    fn into_output(self) -> Self::Output {
        self.map(R::into_output)
    }
}

macro_rules! text_returns {
    ($($type:ty),*) => {$(
        impl TraceReturn for $type {
            type Output = Self;

            fn record(&self) -> TraceRecord {
                TraceRecord::Output(TraceOutput::text(self))
            }

            fn into_output(self) -> Self {
                self
            }
        }
    )*};
}

text_returns!(String, &str, Cow<'_, str>, Box<str>, Arc<str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_after_a_review_of_a_model_is_of_the_caller() {
        let judged = Review::fail("wrong").judged_by("m");
        let output = TraceOutput::new("done").review(judged.clone());
        assert_eq!(output.reviewer, Reviewer::model("m"));
        assert_eq!(output.pass(), TraceOutput::new("done").pass());
        let corrected = TraceOutput::new("done").review(judged).fail("too late");
        assert_eq!(corrected, TraceOutput::new("done").fail("too late"));
    }
}
