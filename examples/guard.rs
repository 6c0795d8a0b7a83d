//! A scope that records itself: the guard submits the run when it is dropped.
//!
//!     cargo run --example guard
//!
//! It runs offline, on one file in a temporary folder. With `REFLECT_BASE_URL`,
//! `REFLECT_PROJECT_ID` and `REFLECT_API_KEY` set it uses that server instead.

use std::time::Duration;

use reflect_sdk::{BoxError, Message, ReflectClient, Review, TraceOutput};

fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let builder = ReflectClient::builder().spool(folder.path().join("spool"));
    let client = match std::env::var_os("REFLECT_BASE_URL") {
        Some(_) => builder.env()?,
        None => builder.embedded(folder.path().join("reflect.db"))?,
    };

    // Judged at once, and blocking: when the scope ends, the memory exists.
    {
        let run = client.trace("Refund order 7").blocking(true);
        let run = run.start_blocking();
        let output = TraceOutput::new(agent(run.augmented_task())).model("scripted");
        run.set_output(output.fail("Order 7 is older than 30 days: look at the date first"));
    }

    // The next run is shown what was learned. Its review is left for later.
    let run = client.trace("Refund order 12").limit(3).start_blocking();
    println!("order 12 is shown {} memory", run.memories().len());
    run.record(Message::assistant(agent(run.augmented_task())));
    run.set_output(TraceOutput::recorded());
    let handle = run.handle();
    drop(run);
    let id = handle.wait_blocking(Duration::from_secs(10))?.trace_id;
    let review = client.blocking().review_trace(&id, Review::pass());
    println!("order 12 is {}", review.call()?.review_status);

    // An error fails the run, with its text as the feedback. So does a panic.
    let run = client.trace("Refund order 3").start_blocking();
    let amount = run.fail_on_err("ten".parse::<u32>());
    println!("order 3 fails with {amount:?}");
    drop(run);

    let report = client.blocking().flush(Duration::from_secs(10));
    println!("{} runs sent, {} failed", report.sent, report.failed);
    Ok(())
}

/// Stands for a model: it refunds at once, unless a memory tells it to look at the date.
fn agent(prompt: &str) -> &'static str {
    if prompt.contains("look at the date") {
        "The order is too old."
    } else {
        "Refunded."
    }
}
