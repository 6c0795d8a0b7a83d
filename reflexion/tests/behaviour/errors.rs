use std::error::Error as _;

use reflexion::{
    Attempt, Attempted, Evaluation, HookFns, HookPoint, OnReflectionError, Outcome, Reflexion,
    ReflexionBuilder, ReflexionError, Stage, Status,
};

use super::support::{Bench, Broken, run};

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

fn failing_in_second_trial(trial: u32) -> Result<Evaluation, Broken> {
    match trial {
        1 => Ok(Evaluation::fail("feedback 1")),
        _ => Err(Broken("mine")),
    }
}

#[tokio::test]
async fn an_evaluator_error_keeps_the_answer() {
    let builder = Bench::default()
        .builder(0)
        .evaluate_with(|trial| failing_in_second_trial(trial.trial));
    let partial = aborted(run(builder).await, 2, Stage::Evaluator);
    assert_eq!(partial.response(), "answer 2");
    assert_eq!(partial.trials[1].evaluation, None);
    assert_eq!(partial.trials[0].reflection.as_deref(), Some("lesson 1"));
    assert_eq!(partial.memory.len(), 1);
}

#[tokio::test]
async fn a_panic_of_the_evaluator_is_not_caught() {
    fn judge(_: &reflexion::Trajectory) -> bool {
        panic!("the evaluator panics")
    }
    let reflexion = Bench::default()
        .builder(0)
        .evaluate_with(judge)
        .build()
        .unwrap();
    let task = tokio::spawn(reflexion.run("the task"));
    assert!(task.await.unwrap_err().is_panic());
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

fn hooked(hooks: HookFns) -> ReflexionBuilder {
    Bench::default().builder(2).hooks(hooks)
}

#[tokio::test]
async fn a_hook_error_ends_the_run_and_loses_nothing() {
    let start = HookFns::new().on_trial_start(|trial| match trial.number {
        2 => Err(Broken("mine")),
        _ => Ok(()),
    });
    let partial = aborted(
        run(hooked(start)).await,
        2,
        Stage::Hook(HookPoint::TrialStart),
    );
    assert_eq!(partial.trials.len(), 1);
    assert_eq!(partial.memory.len(), 1);

    let reflection = HookFns::new().on_reflection_generated(|_, _| Err::<(), _>(Broken("mine")));
    let stage = Stage::Hook(HookPoint::ReflectionGenerated);
    let partial = aborted(run(hooked(reflection)).await, 1, stage);
    assert_eq!(partial.trials[0].reflection.as_deref(), Some("lesson 1"));
    assert_eq!(partial.memory[0].reflection, "lesson 1");

    let end = HookFns::new().on_trial_end(|trial, _| match trial.number {
        2 => Err(Broken("mine")),
        _ => Ok(()),
    });
    let partial = aborted(run(hooked(end)).await, 2, Stage::Hook(HookPoint::TrialEnd));
    assert!(
        partial.best().unwrap().success(),
        "the successful answer is kept"
    );
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

#[tokio::test]
async fn an_error_says_where_it_happened() {
    let builder = Bench::default()
        .builder(0)
        .evaluate_with(|trial| failing_in_second_trial(trial.trial));
    let error = run(builder).await.unwrap_err();
    assert_eq!(error.to_string(), "the evaluator failed in trial 2");
    assert_eq!(error.source().unwrap().to_string(), "mine");
    assert_eq!(error.partial().unwrap().trials.len(), 2);
}
