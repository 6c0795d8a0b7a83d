#![deny(warnings)]

use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
fn unused_context(ctx: &TraceContext, question: &str, customer: &str) -> Result<String, String> {
    Ok(question.to_owned())
}

#[reflect_trace]
async fn unused_later(ctx: &TraceContext, question: &str, customer: &str) -> Result<String, String> {
    Ok(ctx.task().to_owned())
}

#[reflect_trace]
#[must_use]
async fn must_be_used(_: &TraceContext, question: &str) -> String {
    question.to_owned()
}

async fn callers() {
    unused_context("a", "b");
    unused_later("a", "b");
    unused_later("a", "b").await;
    must_be_used("a").await;
}

fn main() {
    drop(callers());
}
