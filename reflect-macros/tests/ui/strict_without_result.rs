use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace(strict)]
fn answer(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(limit = 3, strict)]
async fn answer_later(ctx: &TraceContext, question: &str) -> Result<String, std::fmt::Error> {
    Ok(ctx.task().to_owned())
}

fn main() {}
