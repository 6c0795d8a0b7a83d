use futures_util::stream::{BoxStream, Stream, StreamExt, iter};
use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
fn opaque(ctx: &TraceContext, _question: String) -> impl Stream<Item = String> {
    iter([1]).map(move |_| ctx.task().to_owned())
}

#[reflect_trace]
async fn later(ctx: &TraceContext, _question: String) -> Result<BoxStream<'static, String>, String> {
    Ok(iter([1]).map(move |_| ctx.task().to_owned()).boxed())
}

#[reflect_trace]
fn for_ever(_: TraceContext, question: &str) -> BoxStream<'static, String> {
    iter([question.to_owned()]).boxed()
}

fn main() {
    drop(opaque("callers get no error".to_owned()));
    drop(later("callers get no error".to_owned()));
    drop(for_ever("callers get no error"));
}
