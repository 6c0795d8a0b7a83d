use reflect_types::{AuthoredReflection, Metadata, Review, Reviewer, Trajectory, Verdict};
use serde_json::Value;

use super::panic_hook::survive;
use super::user_code::{PanickedOption, PanickedOptions};

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
    pub(super) metadata: Metadata,
    pub(super) task: Option<String>,
    pub(super) alpha: Option<f64>,
    /// Boxed, because most outputs have none.
    pub(super) panicked: Option<Box<PanickedOptions>>,
}

impl TraceOutput {
    /// An output with this trajectory and no verdict.
    pub fn new(trajectory: impl Into<Trajectory>) -> Self {
        Self::default().set(
            "trajectory",
            || trajectory.into(),
            |output, trajectory| {
                output.trajectory = Some(trajectory);
            },
        )
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

    fn set<T>(
        mut self,
        option: &'static str,
        value: impl FnOnce() -> T,
        set: impl FnOnce(&mut Self, T),
    ) -> Self {
        self.set_mut(option, value, set);
        self
    }

    /// Sets an option, unless its value panics.
    pub(super) fn set_mut<T>(
        &mut self,
        option: &'static str,
        value: impl FnOnce() -> T,
        set: impl FnOnce(&mut Self, T),
    ) {
        match survive(value) {
            Ok(value) => set(self, value),
            Err(message) => self
                .panicked
                .get_or_insert_default()
                .0
                .push(PanickedOption { option, message }),
        }
    }

    pub(super) fn set_verdict(&mut self, verdict: Verdict) {
        if self.reviewer != Reviewer::Human {
            // The caller overrules a model, whose words and learning rate are not the caller's.
            self.reviewer = Reviewer::Human;
            (self.feedback, self.alpha, self.reflection) = (None, None, None);
        }
        self.verdict = Some(verdict);
    }
}

/// The options that [`TraceOutput`] and [`TraceResult`](super::TraceResult) share.
macro_rules! output_options {
    ($(#[$meta:meta])* impl[$($generic:tt)*] $type:ty) => {
        $(#[$meta])*
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
            pub fn verdict(self, verdict: Verdict) -> Self {
                self.set("verdict", || verdict, TraceOutput::set_verdict)
            }

            /// Sets the feedback, which goes with a verdict.
            pub fn feedback(self, text: impl Into<String>) -> Self {
                self.set("feedback", || text.into(), |output, text| output.feedback = Some(text))
            }

            /// Sets the review as a whole, with its reflection if it has one.
            pub fn review(self, review: impl Into<Review>) -> Self {
                self.set("review", || review.into(), |output, review| {
                    output.verdict = Some(review.result);
                    output.feedback = review.feedback_text;
                    output.reflection = review.reflection.map(Box::new);
                    output.alpha = review.alpha;
                    output.reviewer = review.reviewer;
                })
            }

            /// Sets the model.
            pub fn model(self, model: impl Into<String>) -> Self {
                self.set("model", || model.into(), |output, model| output.model = Some(model))
            }

            /// Adds to the metadata, which the memory inherits.
            pub fn metadata(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
                self.set("metadata", || (key.into(), value.into()), |output, (key, value)| {
                    output.metadata.insert(key, value);
                })
            }

            /// Replaces the task, under which the memory is found.
            pub fn task(self, task: impl Into<String>) -> Self {
                self.set("task", || task.into(), |output, task| output.task = Some(task))
            }

            /// Sets how far the review moves the utility of the retrieved memories, from 0 to 1. It
            /// goes with a verdict.
            pub fn alpha(self, alpha: f64) -> Self {
                self.set("alpha", || alpha, |output, alpha| output.alpha = Some(alpha))
            }

            /// Sets the final response; by default the last assistant message.
            pub fn final_response(self, response: impl Into<String>) -> Self {
                self.set("final_response", || response.into(), |output, response| {
                    output.final_response = Some(response);
                })
            }
        }
    };
}

pub(super) use output_options;

output_options!(impl[] TraceOutput);

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
