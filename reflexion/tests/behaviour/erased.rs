//! Parts of different types behind one type.

use reflexion::analysis::{
    Analysis, GeneralReflector, ReflectError, ReflectionContext, Reflector, SharedReflector,
};
use reflexion::{
    Attempt, FailedTrial, FeedbackReflection, LlmActor, LlmEvaluator, Reflexion, SharedActor,
    SharedEvaluator, SharedSelfReflection, Trajectory,
};

use super::support::run;

#[tokio::test]
async fn actors_evaluators_and_reflections_can_be_kept_in_lists() {
    let actors = [
        SharedActor::new(|attempt: Attempt| async move { attempt.prompt }),
        SharedActor::new(LlmActor::new(|prompt: String| async move { prompt })),
    ];
    let evaluators = [
        SharedEvaluator::new(|trial: Trajectory| async move { trial.trial == 2 }),
        SharedEvaluator::new(LlmEvaluator::new(|_: String| async { "SUCCESS" })),
    ];
    let reflections = [
        SharedSelfReflection::new(FeedbackReflection),
        SharedSelfReflection::new(|_: FailedTrial| async { "lesson" }),
    ];
    for actor in &actors {
        for (evaluator, trials) in evaluators.iter().zip([2, 1]) {
            for reflection in &reflections {
                let builder = Reflexion::builder(actor.clone())
                    .evaluator(evaluator.clone())
                    .self_reflection(reflection.clone());
                assert_eq!(run(builder).await.unwrap().trials.len(), trials);
            }
        }
    }
}

struct Plain;

impl Reflector for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    async fn analyze(&self, _: &ReflectionContext) -> Result<Analysis, ReflectError> {
        Ok(Analysis::new("plain").suggestions(["go on"]))
    }
}

#[tokio::test]
async fn reflectors_can_be_kept_in_a_list() {
    let judge = |_: String| async { r#"{"summary": "judged"}"# };
    let reflectors = [
        SharedReflector::new(Plain),
        SharedReflector::new(GeneralReflector::new(judge)),
    ];
    for (reflector, summary) in reflectors.iter().zip(["plain", "judged"]) {
        let result = reflector.reflect(&ReflectionContext::new()).await.unwrap();
        assert_eq!(result.metadata["reflector"], reflector.name());
        assert_eq!(result.summary, summary);
    }
    let shown = format!("{:?}", reflectors[0]);
    assert_eq!(shown, r#"SharedReflector("plain")"#);
}
