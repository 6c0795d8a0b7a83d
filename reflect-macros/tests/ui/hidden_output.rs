use reflect_sdk::{TraceContext, TraceReturn, reflect_trace};

#[reflect_trace]
fn answer(ctx: &TraceContext, _question: &str) -> impl TraceReturn {
    ctx.task().to_owned()
}

#[reflect_trace]
async fn answer_later(ctx: &TraceContext, _question: &str) -> Result<impl TraceReturn, String> {
    Ok(ctx.task().to_owned())
}

#[reflect_trace]
fn named(ctx: &TraceContext, _question: &str) -> impl TraceReturn<Output = String> {
    ctx.task().to_owned()
}

#[reflect_trace(returns = "result")]
fn whole(ctx: &TraceContext, _question: &str) -> impl TraceReturn<Output = String> {
    ctx.task().to_owned()
}

fn main() {
    let _: String = named("callers get the output");
    let _: String = whole("callers get the whole value").into_output();
}
