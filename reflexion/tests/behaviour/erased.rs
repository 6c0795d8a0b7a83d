//! Parts of different types behind one type.

use reflexion::analysis::{
    Analysis, GeneralReflector, ReflectError, ReflectionContext, Reflector, SharedReflector,
};
use reflexion::{
    Attempt, FeedbackReflection, LlmActor, LlmEvaluator, Reflexion, SharedActor, SharedEvaluator,
    SharedSelfReflection, evaluator_fn, reflection_fn,
};

#[tokio::test]
async fn actors_evaluators_and_reflections_can_be_kept_in_lists() {
    let actors = [
        SharedActor::new(|attempt: Attempt| async move { attempt.prompt }),
        SharedActor::new(LlmActor::new(|prompt: String| async move { prompt })),
    ];
    let evaluators = [
        SharedEvaluator::new(evaluator_fn(|trial| trial.trial == 2)),
        SharedEvaluator::new(LlmEvaluator::new(|_: String| async { "SUCCESS" })),
    ];
    let reflections = [
        SharedSelfReflection::new(FeedbackReflection),
        SharedSelfReflection::new(reflection_fn(|_| "lesson")),
    ];
    for actor in &actors {
        for (evaluator, trials) in evaluators.iter().zip([2, 1]) {
            for reflection in &reflections {
                let reflexion = Reflexion::builder(actor.clone())
                    .evaluator(evaluator.clone())
                    .self_reflection(reflection.clone())
                    .build()
                    .unwrap();
                assert_eq!(
                    reflexion.run("the task").await.unwrap().trials.len(),
                    trials
                );
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
    let mut summaries = Vec::new();
    for reflector in &reflectors {
        let result = reflector.reflect(&ReflectionContext::new()).await.unwrap();
        assert_eq!(result.metadata["reflector"], reflector.name());
        summaries.push(result.summary);
    }
    assert_eq!(summaries, ["plain", "judged"]);
    assert_eq!(
        format!("{:?}", reflectors[0]),
        r#"SharedReflector("plain")"#
    );
}
