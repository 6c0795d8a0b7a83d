//! A model as the judge of a Reflexion loop, over HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use reflect_model_server::{Act, ModelRequest, ModelServer};
use reflect_sdk::TraceOutput;
use reflexion::models::Client;
use reflexion::{Attempt, Evaluator, Judge, Reflexion, ReflexionError, Trajectory};
use serde_json::json;

/// Passes answers that name a currency.
fn strict(asked: &ModelRequest) -> Act {
    let good = asked.text().contains("20 EUR");
    let (verdict, feedback) = if good {
        ("pass", "")
    } else {
        ("fail", "No currency.")
    };
    Act::Say(json!({"verdict": verdict, "feedback": feedback, "score": 0.5}).to_string())
}

fn judge(server: &ModelServer) -> Judge {
    let client = Client::builder("judge-model").base_url(server.url());
    Judge::new(client.build().unwrap()).rubric("Every amount has a currency.")
}

#[tokio::test]
async fn a_judge_drives_the_loop_and_its_review_says_so() {
    let server = ModelServer::start(strict).await.unwrap();
    let agent = |attempt: Attempt| async move {
        if attempt.prompt.contains("currency") {
            "20 EUR"
        } else {
            "20"
        }
    };
    let reflexion = Reflexion::builder(agent)
        .evaluator(judge(&server))
        .reflect_with(|failed| format!("Add it: {}", failed.evaluation.feedback.to_lowercase()))
        .build()
        .unwrap();
    let outcome = reflexion.run("How much was refunded?").await.unwrap();
    assert!(outcome.succeeded());
    assert_eq!(outcome.trials.len(), 2);
    let evaluation = outcome.trials[0].evaluation.as_ref().unwrap();
    assert_eq!(evaluation.judge.as_deref(), Some("judge-model"));
    let recorded = format!("{:?}", TraceOutput::from(&outcome));
    assert!(recorded.contains(r#"Model("judge-model")"#), "{recorded}");
    assert!(recorded.contains("alpha: Some(0.1)"), "{recorded}");
}

#[tokio::test]
async fn a_judge_that_cannot_tell_is_unclear_and_one_that_fails_ends_the_run_with_everything_kept()
{
    let unclear = || Act::Say(r#"{"verdict": "unclear"}"#.to_owned());
    let server = ModelServer::start(strict).await.unwrap();
    server.first([unclear(), Act::Refuse("no".into())]);
    let trial = Trajectory::new(1, "How much?", "20");
    let evaluation = judge(&server).evaluate(trial).await.unwrap();
    assert!(!evaluation.success && evaluation.unclear);

    let reflexion = Reflexion::builder(|_: Attempt| async { "20" })
        .evaluator(judge(&server))
        .reflect_with(|_| "a lesson")
        .build()
        .unwrap();
    let error = reflexion.run("How much?").await.unwrap_err();
    assert!(matches!(error, ReflexionError::Stage { .. }));
    let recorded = format!("{:?}", TraceOutput::from(&error));
    assert!(recorded.contains("the model declined"), "{recorded}");
    assert!(
        recorded.contains("reviewer: Human"),
        "an error is not a verdict: {recorded}"
    );
}

#[tokio::test]
async fn a_run_that_ends_with_an_unclear_opinion_waits_for_a_person() {
    let unclear = |_: &ModelRequest| {
        Act::Say(r#"{"verdict": "unclear", "feedback": "No answer to judge."}"#.to_owned())
    };
    let server = ModelServer::start(unclear).await.unwrap();
    let reflexion = Reflexion::builder(|_: Attempt| async { "20" })
        .evaluator(judge(&server))
        .reflect_with(|_| "a lesson")
        .max_trials(2)
        .build()
        .unwrap();
    let outcome = reflexion.run("How much?").await.unwrap();
    assert!(!outcome.succeeded());
    let recorded = format!("{:?}", TraceOutput::from(&outcome));
    assert!(recorded.contains("verdict: None"), "{recorded}");
    assert!(recorded.contains("reviewer: Human"), "{recorded}");
    assert!(recorded.contains("a lesson"), "{recorded}");
}
