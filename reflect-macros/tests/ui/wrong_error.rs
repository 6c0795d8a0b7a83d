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

fn main() {}
