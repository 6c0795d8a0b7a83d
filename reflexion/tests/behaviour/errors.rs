use std::error::Error as _;

use reflexion::{
    Attempt, Attempted, Evaluation, HookPoint, OnReflectionError, Outcome, Reflexion,
    ReflexionError, Stage, Status,
};

use super::support::{Bench, Broken, LoggingHooks, run};

/// The partial outcome of a run that fails in this stage with the user's error as the source.
#[track_caller]
fn aborted(result: Result<Outcome, ReflexionError>, at: u32, wanted: Stage) -> Outcome {
    let error = result.unwrap_err();
    let source = error.source().and_then(|source| source.downcast_ref());
    assert_eq!(
        source,
        Some(&Broken("mine")),
        "the source is the user's own error"
    );
    match error {
        ReflexionError::Stage {
            trial,
            stage,
            partial,
            ..
        } => {
            assert_eq!((trial, stage), (at, wanted));
            assert_eq!(partial.status, Status::Aborted);
            *partial
        }
        other => panic!("another error: {other}"),
    }
}

#[tokio::test]
async fn an_evaluator_error_says_where_it_happened_and_keeps_the_answer() {
    let builder = Bench::default()
        .builder(0)
        .evaluate_with(|trial| match trial.trial {
            1 => Ok(Evaluation::fail("feedback 1")),
            _ => Err(Broken("mine")),
        });
    let result = run(builder).await;
    let text = result.as_ref().unwrap_err().to_string();
    assert_eq!(text, "the evaluator failed in trial 2");
    let partial = aborted(result, 2, Stage::Evaluator);
    assert_eq!(partial.response(), "answer 2");
    assert_eq!(partial.trials[1].evaluation, None);
    assert_eq!(partial.trials[0].reflection.as_deref(), Some("lesson 1"));
    assert_eq!(partial.memory.len(), 1);
}

// The types rule out an evaluator that returns neither a verdict nor an error.
#[tokio::test]
async fn a_verdict_that_says_nothing_is_a_plain_failure() {
    let builder = Bench::default()
        .builder(0)
        .evaluate_with(|_| Evaluation::default());
    let outcome = run(builder).await.unwrap();
    assert_eq!(outcome.status, Status::Exhausted);
    assert_eq!(outcome.trials[0].evaluation, Some(Evaluation::fail("")));
}

#[tokio::test]
async fn a_reflection_error_ends_the_run_and_keeps_answer_and_verdict() {
    let builder = Bench::default()
        .builder(2)
        .reflect_with(|_| Err::<String, _>(Broken("mine")));
    let partial = aborted(run(builder).await, 1, Stage::Reflection);
    assert_eq!(partial.response(), "answer 1");
    assert_eq!(
        partial.trials[0].evaluation,
        Some(Evaluation::fail("feedback 1"))
    );
    assert!(partial.memory.is_empty());
}

#[tokio::test]
async fn the_feedback_can_replace_a_failed_reflection() {
    let builder = Bench::default()
        .builder(2)
        .reflect_with(|_| Err::<String, _>(Broken("mine")))
        .on_reflection_error(OnReflectionError::UseFeedback);
    let outcome = run(builder).await.unwrap();
    assert!(outcome.succeeded());
    assert_eq!(outcome.memory[0].reflection, "feedback 1");
    assert_eq!(outcome.trials[0].reflection_error.as_deref(), Some("mine"));
    assert_eq!(outcome.trials[1].reflection_error, None);
}

#[tokio::test]
async fn a_hook_error_ends_the_run_and_loses_nothing() {
    let failing_at = async |fails_at, trial, point| {
        let hooks = LoggingHooks {
            fails_at,
            ..LoggingHooks::default()
        };
        let result = run(Bench::default().builder(2).hooks(hooks)).await;
        aborted(result, trial, Stage::Hook(point))
    };
    let partial = failing_at("start2", 2, HookPoint::TrialStart).await;
    assert_eq!((partial.trials.len(), partial.memory.len()), (1, 1));

    let partial = failing_at("reflection1", 1, HookPoint::ReflectionGenerated).await;
    assert_eq!(partial.trials[0].reflection.as_deref(), Some("lesson 1"));
    assert_eq!(partial.memory[0].reflection, "lesson 1");

    let partial = failing_at("end2:true", 2, HookPoint::TrialEnd).await;
    assert!(partial.best().unwrap().success());
    assert_eq!(partial.response(), "answer 2");
}

#[tokio::test]
async fn an_actor_error_ends_the_run_and_keeps_the_trials_before_it() {
    let reflexion = Reflexion::builder(|attempt: Attempt| async move {
        if attempt.trial == 1 {
            return Ok(Attempted::from("answer 1"));
        }
        Err(Broken("mine"))
    })
    .evaluate_with(|_| false)
    .reflect_with(|_| "lesson 1")
    .build()
    .unwrap();
    let partial = aborted(reflexion.run("the task").await, 2, Stage::Actor);
    assert_eq!(partial.trials.len(), 1);
    assert_eq!(partial.response(), "answer 1");
}
