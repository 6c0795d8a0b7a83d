use std::pin::Pin;

use reflect_sdk::{TraceContext, TraceResult, reflect_trace};

struct Failed;

#[reflect_trace]
fn answer(ctx: &TraceContext, question: &str) -> Result<String, Failed> {
    Err(Failed)
}

#[reflect_trace]
async fn answer_later(ctx: &TraceContext, question: &str) -> Result<TraceResult<u8>, Failed> {
    Err(Failed)
}

type Outcome = Result<TraceResult<u8>, Failed>;

#[reflect_trace]
async fn through_an_alias(ctx: &TraceContext, question: &str) -> Outcome {
    Err(Failed)
}

#[reflect_trace]
fn boxed(ctx: TraceContext, question: String) -> Pin<Box<dyn Future<Output = Outcome>>> {
    Box::pin(async { Err(Failed) })
}

async fn callers() {
    let _ = answer("a");
}

fn main() {
    drop(callers());
}
