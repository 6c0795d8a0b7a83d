//! What a run says of itself before it ends.

use reflect_types::Trajectory;

use super::context::TraceContext;
use super::failure::Conclusion;
use super::output::TraceOutput;

impl TraceContext {
    /// Says the verdict, the model, the messages and more from within the run. A later call replaces an
    /// earlier one, except for a task or alpha that it does not set.
    ///
    /// What the run returns completes it: a text, or that of a stream, is the final response, and the
    /// trajectory if there are no messages; a [`TraceResult`](super::TraceResult) wins where both say
    /// something. An `Err` or a panic still fails the run.
    ///
    /// ```
    /// use reflect_sdk::{Message, TraceContext, TraceOutput, reflect_trace};
    ///
    /// #[reflect_trace]
    /// fn shout(ctx: &TraceContext, question: &str) -> String {
    ///     ctx.record(Message::user(ctx.augmented_task()));
    ///     ctx.set_output(TraceOutput::recorded().model("capitals"));
    ///     question.to_uppercase()
    /// }
    /// ```
    pub fn set_output(&self, mut output: TraceOutput) {
        if self.has_ended() {
            let run_id = self.run_id();
            tracing::debug!(target: "reflect", run_id, "an output was set after the end of its run");
        }
        self.conclude(|conclusion| {
            if let Some(before) = conclusion.output.take() {
                output.task = output.task.take().or(before.task);
                output.alpha = output.alpha.or(before.alpha);
            }
            *conclusion = Conclusion {
                output: Some(output),
                error: None,
            };
        });
    }
}

impl TraceOutput {
    /// This output of a run that has ended, completed by what the run said before.
    pub(super) fn completed(mut self, said: Self, has_recorded: bool) -> Self {
        if self.is_text() {
            let text = self.trajectory.filter(|_| !has_recorded);
            self.trajectory = said.trajectory.or(text);
            self.final_response = said.final_response.or(self.final_response);
        } else {
            self.trajectory = self.trajectory.or(said.trajectory);
            self.final_response = self.final_response.or(said.final_response);
        }
        if self.verdict.is_none() {
            self.verdict = said.verdict;
            self.feedback = said.feedback;
            self.reviewer = said.reviewer;
            self.reflection = said.reflection;
        }
        self.model = self.model.or(said.model);
        self.task = self.task.or(said.task);
        self.alpha = self.alpha.or(said.alpha);
        let metadata = std::mem::replace(&mut self.metadata, said.metadata);
        self.metadata.extend(metadata);
        self
    }

    /// Whether it has a text alone, which is an answer and no trajectory.
    pub(super) fn is_text(&self) -> bool {
        matches!(&self.trajectory, Some(Trajectory::Text(text)) if self.final_response.as_ref() == Some(text))
    }
}

#[cfg(test)]
mod tests {
    use reflect_types::Message;

    use super::*;

    #[test]
    fn a_text_completes_what_was_said_and_other_outputs_go_before_it() {
        let messages = || vec![Message::assistant("I look it up")];
        let said = || {
            TraceOutput::new(messages())
                .pass()
                .model("m")
                .metadata("a", 1)
        };
        let text = TraceOutput::text("Refunded.").metadata("b", 2);
        let expected = said().metadata("b", 2).final_response("Refunded.");
        assert_eq!(text.completed(said(), false), expected);

        let whole = TraceOutput::new("I refunded it")
            .fail("too late")
            .model("n");
        assert_eq!(
            whole.clone().completed(said(), false),
            whole.metadata("a", 1)
        );
    }

    #[test]
    fn a_text_is_the_trajectory_only_without_messages() {
        let text = || TraceOutput::text("Refunded.");
        let alone = text().completed(TraceOutput::recorded(), false);
        assert_eq!(alone, text());
        let recorded = text().completed(TraceOutput::recorded(), true);
        assert_eq!(
            recorded,
            TraceOutput::recorded().final_response("Refunded.")
        );
    }
}
