//! A scope that records itself: by its output, by an error that leaves it, by a panic.
//!
//!     cargo run --example context_guard
//!
//! It runs offline, on one file in a temporary folder.

use std::thread;
use std::time::Duration;

use reflect_sdk::{BoxError, Message, ReflectClient, TraceOutput};

fn main() -> Result<(), BoxError> {
    let folder = tempfile::tempdir()?;
    let client = ReflectClient::builder().embedded(folder.path().join("reflect.db"))?;

    // 1. The scope says what it did and how good that was. Dropping the guard submits it.
    {
        let run = client.trace("Add up the basket: 3, 4").start_blocking();
        let messages = vec![Message::user(run.augmented_task()), Message::assistant("8")];
        run.set_output(TraceOutput::new(messages).fail("3 + 4 is 7: add, then check by hand"));
    }

    // 2. An error that leaves the scope is the feedback of a failed run.
    if let Err(error) = add_up(&client, "3, four") {
        println!("the caller still gets the error: {error}");
    }

    // 3. So is a panic, and its place is noted.
    let panicked = thread::scope(|scope| scope.spawn(|| cheapest(&client, &[])).join());
    println!("the caller still gets the panic: {}", panicked.is_err());

    // They were sent in the background. Now they are there, each with its review.
    let client = client.blocking();
    let report = client.flush(Duration::from_secs(10));
    println!("\n{} runs recorded:", report.sent);
    for trace in client.list_traces().call()? {
        let trace = client.wait_for_trace(&trace.id).call()?;
        let review = trace.review.ok_or("it was judged as it ended")?;
        let why = review.feedback_text.unwrap_or_default();
        println!("  {:27} {}  {why}", trace.task, review.result);
        if let Some(place) = trace.metadata.get("panicked_at") {
            println!("{:35} at {place}", "");
        }
    }
    Ok(())
}

fn add_up(client: &ReflectClient, basket: &str) -> Result<u32, BoxError> {
    let task = format!("Add up the basket: {basket}");
    let run = client.trace(task).start_blocking();
    let prices = basket.split(", ").map(str::parse::<u32>);
    let sum = run.fail_on_err(prices.sum::<Result<u32, _>>())?;
    run.set_output(TraceOutput::new(sum.to_string()).pass());
    Ok(sum)
}

fn cheapest(client: &ReflectClient, prices: &[u32]) -> u32 {
    let _run = client.trace("Find the cheapest item").start_blocking();
    prices[0]
}
