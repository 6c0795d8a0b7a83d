use futures_util::stream::{Stream, StreamExt, iter};
use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace(fold = |text, item| text.push_str(item))]
fn no_stream(_: TraceContext, question: String) -> String {
    question
}

#[reflect_trace(fold, returns = "result", boxed)]
fn stream(_: TraceContext, _question: String) -> impl Stream<Item = String> {
    iter([String::new()])
}

#[reflect_trace(strict)]
fn strict(_: TraceContext, _question: String) -> impl Stream<Item = String> {
    iter([String::new()])
}

#[reflect_trace(strict)]
async fn strict_later(_: TraceContext, _question: String) -> impl Stream<Item = String> {
    iter([String::new()])
}

fn main() {
    drop(no_stream("callers get no error".to_owned()));
    drop(stream("callers get no error".to_owned()));
    drop(strict("callers get no error".to_owned()).boxed());
    drop(strict_later("callers get no error".to_owned()));
}
