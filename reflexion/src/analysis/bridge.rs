use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::ReflectionContext;
use super::history::ReflectionHistory;
use super::reflector::SharedReflector;
use super::result::ReflectionResult;
use crate::erased::BoxError;
use crate::self_reflection::{FailedTrial, SelfReflection};

/// A [`Reflector`](super::Reflector) as the [`SelfReflection`] of a [`Reflexion`](crate::Reflexion).
///
/// The reflector gets the task as `input`, the answer as `output`, the feedback as `error` and the
/// trial's number as `iteration`. The reflection is its summary and its suggestions.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use reflexion::analysis::{GeneralReflector, ReflectionHistory, ReflectorReflection};
/// use reflexion::{Attempt, BoxError, Reflexion};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), BoxError> {
/// let judge = |_: String| async { r#"{"summary": "Too curt", "suggestions": ["Say why"]}"# };
/// let history = Arc::new(Mutex::new(ReflectionHistory::new()));
/// let reflexion = Reflexion::builder(|attempt: Attempt| async move { attempt.prompt })
///     .evaluate_with(|trial| trial.answer().contains("- Say why"))
///     .self_reflection(ReflectorReflection::new(GeneralReflector::new(judge)).history(&history))
///     .build()?;
/// assert_eq!(reflexion.run("Explain it").await?.trials.len(), 2);
/// assert_eq!(history.lock().unwrap().total_count(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ReflectorReflection {
    reflector: SharedReflector,
    history: Option<Arc<Mutex<ReflectionHistory>>>,
}

impl ReflectorReflection {
    /// A self-reflection by this reflector.
    pub fn new(reflector: impl Into<SharedReflector>) -> Self {
        Self {
            reflector: reflector.into(),
            history: None,
        }
    }

    /// Adds every result to this history.
    #[must_use]
    pub fn history(mut self, history: &Arc<Mutex<ReflectionHistory>>) -> Self {
        self.history = Some(Arc::clone(history));
        self
    }
}

impl SelfReflection for ReflectorReflection {
    async fn reflect(&self, failed: FailedTrial) -> Result<String, BoxError> {
        let result = self.reflector.reflect(&context(&failed)).await?;
        let text = text(&result);
        let failure = result.is_error().then(|| result.summary.clone());
        if let Some(history) = &self.history {
            let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
            history.add(result);
        }
        // The reason for a missing analysis is not a reflection.
        failure.map_or(Ok(text), |reason| Err(reason.into()))
    }
}

fn context(failed: &FailedTrial) -> ReflectionContext {
    let trial = &failed.trajectory;
    let context = ReflectionContext::new()
        .input(trial.task.as_str())
        .output(trial.answer())
        .iteration(trial.trial);
    match failed.evaluation.feedback.trim() {
        "" => context,
        feedback => context.error(feedback),
    }
}

/// The summary, and the suggestions as a list.
fn text(result: &ReflectionResult) -> String {
    let mut text = result.summary.trim().to_owned();
    for suggestion in &result.suggestions {
        let _ = write!(text, "\n- {}", suggestion.trim());
    }
    text.trim_start().to_owned()
}
