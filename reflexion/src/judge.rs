use reflect_models::{Judge, JudgeRun};
use reflect_types::Verdict;

use crate::erased::BoxError;
use crate::evaluation::{Evaluation, Evaluator};
use crate::trajectory::Trajectory;

/// An opinion without a verdict is a failure marked [`unclear`](Evaluation::unclear). A run that
/// ends with one is recorded without a review, for a person to give. The judge asks over HTTP and
/// needs a tokio runtime.
impl Evaluator for Judge {
    async fn evaluate(&self, trial: Trajectory) -> Result<Evaluation, BoxError> {
        let answer = trial.answer();
        let run = JudgeRun::new(&trial.task, &answer).messages(&trial.messages);
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
