use reflect_sdk::{TraceContext, reflect_trace};

struct Answer;

#[reflect_trace]
fn answer(ctx: &TraceContext, question: &str) -> Answer {
    Answer
}

#[reflect_trace]
async fn answer_later(ctx: &TraceContext, question: &str) -> Vec<u8> {
    Vec::new()
}

#[reflect_trace]
#[must_use]
async fn stays_async(ctx: &TraceContext, question: &str) -> Answer {
    Answer
}

async fn callers() {
    let _ = answer("a");
    let _ = answer_later("b").await;
}

fn main() {
    drop(callers());
}
