use futures_util::stream::{BoxStream, Stream, StreamExt, iter};
use reflect_sdk::{TraceContext, reflect_trace};

struct Chunk;

struct Silent;

#[reflect_trace]
fn opaque(_: TraceContext, _question: String) -> impl Stream<Item = Chunk> {
    iter([Chunk])
}

#[reflect_trace]
fn boxed(_: TraceContext, _question: String) -> BoxStream<'static, Chunk> {
    iter([Chunk]).boxed()
}

#[reflect_trace]
async fn later(
    _: TraceContext,
    _question: &str,
) -> Result<impl Stream<Item = Result<Chunk, String>>, String> {
    Ok(iter([Ok(Chunk)]))
}

#[reflect_trace]
fn silent(_: TraceContext, _question: String) -> impl Stream<Item = Result<String, Silent>> {
    iter([Err(Silent)])
}

#[reflect_trace(fold = |text, item| text.push_str(item))]
fn silently_folded(
    _: TraceContext,
    _question: String,
) -> impl Stream<Item = Result<String, Silent>> {
    iter([Err(Silent)])
}

#[reflect_trace(fold = |text, chunk| text.push_str(&chunk.delta))]
fn mistaken(_: TraceContext, _question: String) -> impl Stream<Item = Chunk> {
    iter([Chunk])
}

fn main() {
    drop(opaque("callers get no error".to_owned()));
    drop(boxed("callers get no error".to_owned()));
    drop(later("callers get no error"));
    drop(mistaken("callers get no error".to_owned()));
}
