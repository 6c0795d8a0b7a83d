//! An agent that fails, reflects, and does better, in one run and in the next. Offline.
//!
//! ```text
//! cargo run --example reflexion_loop
//! ```
//!
//! The agent, a scripted model, looks for a date format and follows the lessons in its prompt. The
//! evaluator applies the answer.

use reflect_sdk::ReflectClient;
use reflexion::{Attempt, BoxError, Evaluation, Event, Persist, Reflexion, Trajectory};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let client = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;

    let reflexion = Reflexion::builder(agent)
        .evaluate_with(check)
        .reflect_with(|failed| {
            let answer = failed.trajectory.answer();
            let reason = &failed.evaluation.feedback;
            format!("I answered `{answer}`, but {reason}. Next time I put that right first.")
        })
        .max_trials(4)
        .on_event(report)
        // Memory across runs.
        .recall(&client, 5)
        .persist(&client, Persist::EachTrial)
        .build()?;

    for example in ["2026-03-01T09:05:07Z", "1999-12-31T23:59:59Z"] {
        let task = format!("Give a strftime format for log lines such as {example}.");
        let outcome = reflexion.run(&task).await?.into_success()?;
        println!("{}", outcome.response());
        let (recalled, trials) = (outcome.recalled.len(), outcome.trials.len());
        println!("memories recalled: {recalled}, trials needed: {trials}\n");
    }
    Ok(())
}

/// Follows every lesson in its prompt.
async fn agent(attempt: Attempt) -> String {
    let date = if attempt.prompt.contains("year comes first") {
        "%Y-%m-%d"
    } else {
        "%d.%m.%Y"
    };
    let time = if attempt.prompt.contains("seconds are missing") {
        "T%H:%M:%SZ"
    } else {
        "T%H:%MZ"
    };
    format!("{date}{time}")
}

/// Applies the format to a known moment.
fn check(trial: &Trajectory) -> Evaluation {
    let mut text = trial.answer();
    let parts = ["%Y", "%m", "%d", "%H", "%M", "%S"].into_iter();
    for (part, value) in parts.zip(["2026", "03", "01", "09", "05", "07"]) {
        text = text.replace(part, value);
    }
    match text.as_str() {
        "2026-03-01T09:05:07Z" => Evaluation::pass().score(1.0),
        text if !text.starts_with("2026") => Evaluation::fail("the year comes first").score(0.0),
        _ => Evaluation::fail("the seconds are missing").score(0.5),
    }
}

fn report(event: &Event) {
    println!("{}", serde_json::to_string(event).unwrap_or_default());
}
