//! An agent that fails, reflects, and does better, within one task and offline.
//!
//! ```text
//! cargo run --example reflexion_loop
//! ```
//!
//! The agent looks for a date format. It stands for a model, and like one it
//! does what its prompt gives it reason to do. The evaluator really applies the answer.

use reflect_sdk::reflexion::{Attempt, BoxError, Evaluation, Event, Reflexion, Trajectory};

const TASK: &str = "Give a strftime format for log lines such as 2026-03-01T09:05:07Z.";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let reflexion = Reflexion::builder(agent)
        .evaluate_with(check)
        .reflect_with(|failed| {
            let answer = failed.trajectory.answer();
            let reason = &failed.evaluation.feedback;
            format!("I answered `{answer}`, but {reason}. Next time I put that right first.")
        })
        .max_trials(4)
        .on_event(report)
        .build()?;

    let outcome = reflexion.run(TASK).await?.into_success()?;
    println!(
        "\n{} after {} trials",
        outcome.response(),
        outcome.trials.len()
    );
    println!("Lessons that another run could start with (`run_with`):");
    for entry in &outcome.memory {
        println!("  {}. {}", entry.trial, entry.reflection);
    }
    Ok(())
}

/// Follows every lesson in its prompt, and has no idea of its own.
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
