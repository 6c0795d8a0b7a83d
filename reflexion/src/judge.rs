//! A model that is told a rubric judges trials. What it says is stored as a judge's review: with a
//! note of the model, and a smaller step.

use reflect_models::{Judge, JudgeRun};
use reflect_types::Verdict;

use super::boxed::BoxError;
use super::{Evaluation, Evaluator, Trajectory};

/// What the judge cannot tell is a failure marked [`unclear`](Evaluation::unclear), and where a run
/// ends with one it is recorded without a review, for people to give. It asks over HTTP, so the loop
/// has to run inside a tokio runtime.
impl Evaluator for Judge {
    async fn evaluate(&self, trajectory: &Trajectory) -> Result<Evaluation, BoxError> {
        let answer = trajectory.answer();
        let run = JudgeRun::new(&trajectory.task, &answer).messages(&trajectory.messages);
        let opinion = self.judge(&run).await?;
        let evaluation = Evaluation {
            success: opinion.verdict == Some(Verdict::Pass),
            score: opinion.score,
            feedback: opinion.feedback,
            unclear: opinion.verdict.is_none(),
            ..Evaluation::default()
        };
        Ok(evaluation.judged_by(self.name(), self.step()))
    }
}
