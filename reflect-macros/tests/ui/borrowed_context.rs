use reflect_sdk::{TraceContext, TraceResult, reflect_trace};

#[reflect_trace]
fn answer<'a>(ctx: &'a TraceContext, _question: &str) -> &'a str {
    ctx.task()
}

#[reflect_trace]
async fn answer_later<'a>(ctx: &'a TraceContext, _question: &str) -> TraceResult<&'a str> {
    TraceResult::new(ctx.task(), "messages")
}

/// Borrows from something else as well.
#[reflect_trace]
fn fine<'a>(_ctx: &'a TraceContext, question: &'a str) -> &'a str {
    question
}

async fn callers() -> usize {
    let later: &str = answer_later("callers get no error").await;
    answer("callers get no error").len() + later.len() + fine("this is right").len()
}

fn main() {
    drop(callers());
}
