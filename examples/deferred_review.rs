//! Record now, judge later: what waits for a review, and what the review teaches.
//!
//!     cargo run --example deferred_review
//!
//! It runs offline, on one file in a temporary folder.

use std::path::Path;

use reflect_sdk::{BoxError, ReflectClient, Review, TraceOutput};

fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("reflect.db");
    agent_at_work(&file)?;
    reviewer_next_morning(&file)
}

/// Whether the answers are right is not known yet: they are recorded without a verdict.
fn agent_at_work(file: &Path) -> Result<(), BoxError> {
    let client = ReflectClient::builder().embedded(file)?;
    for question in ["May I cancel my late parcel to Oslo?", "Do you sell tea?"] {
        let run = client.trace(question).start_blocking();
        run.set_output(TraceOutput::new("Yes, of course.").model("scripted"));
    }
    // The client's last handle, dropped here, waits until both are stored.
    Ok(())
}

/// Another process on another day would find the same: runs that wait.
fn reviewer_next_morning(file: &Path) -> Result<(), BoxError> {
    let client = ReflectClient::builder().embedded(file)?.blocking();
    let pending = client.list_traces().pending().call()?;
    println!("{} runs wait for a review", pending.len());

    for trace in pending {
        println!("\n{}\n  said      {}", trace.task, trace.final_response);
        let review = if trace.task.contains("cancel") {
            Review::fail("A parcel on its way can only be sent back, not cancelled")
        } else {
            Review::pass()
        };
        let trace = client.review_trace(&trace.id, review).call()?;
        let review = trace.review.ok_or("it was just reviewed")?;
        let why = review.feedback_text.unwrap_or_default();
        println!("  review    {} {why}", review.result);
    }

    let task = "My parcel to Bergen is late, may I cancel?";
    println!("\n{task}");
    for memory in client.query_memories(task).limit(1).call()? {
        println!("  is shown  {}", memory.reflection);
    }
    let pending = client.list_traces().pending().call()?;
    println!("\n{} runs wait for a review", pending.len());
    Ok(())
}
