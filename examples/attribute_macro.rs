//! `#[reflect_trace]`: annotate a function, and it learns from its own runs.
//!
//!     cargo run --example attribute_macro
//!
//! Offline: the engine runs in this process, and a few lines of Rust stand in for the model.

use std::error::Error;
use std::time::Duration;

use reflect_sdk::{Message, ReflectClient, TraceContext, TraceResult, reflect_trace};

/// Sync, and a `String`: what is returned is both the run and its answer, to be reviewed later.
#[reflect_trace]
fn shout(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_uppercase()
}

/// Async, and a `TraceResult`: the whole run with its verdict; the caller gets the `String`.
#[reflect_trace(task = format!("Refund order {order}"), limit = 1, until_learned = true)]
async fn refund(ctx: &TraceContext, order: u32, days_old: u32) -> TraceResult {
    // The stand-in for a model: it does what the memory in its prompt says.
    let reply = if ctx.augmented_task().contains("30 days") && days_old > 30 {
        format!("order {order} is too old")
    } else {
        format!("order {order} is refunded")
    };
    let messages = vec![
        Message::user(ctx.augmented_task()),
        Message::assistant(&reply),
    ];
    let result = TraceResult::new(reply.clone(), messages).model("stand-in");
    if days_old > 30 && reply.ends_with("refunded") {
        return result.fail("Orders of more than 30 days must not be refunded");
    }
    result.pass()
}

/// `Result`: an error is recorded as a failed run, and reaches the caller as it is.
#[reflect_trace]
async fn parse(ctx: &TraceContext, text: &str) -> Result<String, std::num::ParseIntError> {
    ctx.record(Message::user(ctx.augmented_task()));
    let number: i64 = text.trim().parse()?;
    Ok(format!("{number} is a number"))
}

struct Desk {
    reflect: ReflectClient,
}

impl Desk {
    /// A method, with the client in a field; the calls in it are runs of their own, below this one.
    #[reflect_trace(client = self.reflect, task = "Work through the queue")]
    async fn work(&mut self, ctx: &TraceContext, orders: &[(u32, u32)]) -> TraceResult<usize> {
        for (order, days_old) in orders {
            let reply = refund(*order, *days_old).await;
            println!("  {reply}");
            ctx.record(Message::assistant(reply));
        }
        TraceResult::recorded(orders.len()).pass()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("reflect.db");
    let reflect = ReflectClient::builder().project("support").embedded(file)?;
    let _flush = reflect.install();

    println!("sync, String:        {}", shout("is anybody there?"));
    println!("Result:              {:?}", parse("42").await);
    println!("Result, failed:      {:?}", parse("forty-two").await);

    println!("method, nested, async, TraceResult:");
    let mut desk = Desk {
        reflect: reflect.clone(),
    };
    let done = desk.work(&[(7, 60), (12, 45), (3, 10)]).await;
    println!("  {done} orders: the second was shown what the first had taught");

    reflect.flush(Duration::from_secs(5)).await;
    println!("\nrecorded, newest first:");
    for trace in reflect.list_traces().await? {
        let result = trace
            .review
            .map_or("to be reviewed".to_owned(), |r| r.result.to_string());
        println!("  {result:<14} {}", trace.task);
    }
    Ok(())
}
