use std::time::Duration;

use reflexion::{
    Attempt, ConfigError, FeedbackReflection, Reflexion, ReflexionBuilder, ReflexionError,
};

use super::support::{Bench, scripted_llm};

#[track_caller]
fn refused(builder: ReflexionBuilder) -> ConfigError {
    match builder.build() {
        Err(ReflexionError::Config(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}

fn echo() -> ReflexionBuilder {
    Reflexion::builder(|attempt: Attempt| async move { attempt.prompt })
}

#[test]
fn no_trials_are_refused_before_anything_is_called() {
    let bench = Bench::default();
    let error = refused(bench.builder(1).max_trials(0));
    assert_eq!(error, ConfigError::NoTrials);
    assert!(error.to_string().contains("set it to 1 or more"));
    assert_eq!(bench.attempts.len(), 0);
}

#[test]
fn a_zero_timeout_is_refused() {
    let builder = Bench::default().builder(1).trial_timeout(Duration::ZERO);
    assert_eq!(refused(builder), ConfigError::NoTime);
}

#[cfg(feature = "memory")]
#[test]
fn recall_limits_out_of_range_are_refused() {
    let client = reflect_sdk::ReflectClient::disabled();
    for limit in [0, 101] {
        let error = refused(Bench::default().builder(1).recall(&client, limit));
        assert_eq!(error, ConfigError::RecallLimit(limit));
        assert!(error.to_string().contains("ask for 1 to 100"));
    }
}

#[test]
fn a_loop_without_judge_or_model_is_refused() {
    assert_eq!(refused(echo().max_trials(1)), ConfigError::NoEvaluator);
}

#[test]
fn a_loop_that_could_not_reflect_is_refused_and_one_that_need_not_is_fine() {
    let judged = || echo().evaluate_with(|_| true);
    assert_eq!(refused(judged()), ConfigError::NoReflection);
    let last = judged().max_trials(1).reflect_on_last_failure(true);
    assert_eq!(refused(last), ConfigError::NoReflection);

    assert!(judged().max_trials(1).build().is_ok());
    assert!(judged().self_reflection(FeedbackReflection).build().is_ok());
}

#[test]
fn the_order_of_the_calls_does_not_matter() {
    let (_, llm) = scripted_llm(&[]);
    for builder in [
        echo().llm(llm.clone()).evaluate_with(|_| true),
        echo().evaluate_with(|_| true).llm(llm.clone()),
        echo().llm(llm),
    ] {
        assert!(builder.build().is_ok());
    }
}
