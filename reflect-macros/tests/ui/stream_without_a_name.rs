use std::pin::Pin;

use futures_util::stream::{Iter, Stream, StreamExt, iter};
use reflect_sdk::{TraceContext, reflect_trace};

type Tokens = Pin<Box<dyn Stream<Item = String> + Send>>;

#[reflect_trace]
fn alias(_: TraceContext, _question: String) -> Tokens {
    iter([String::new()]).boxed()
}

#[reflect_trace]
fn concrete(_: TraceContext, _question: String) -> Iter<std::vec::IntoIter<String>> {
    iter(Vec::new())
}

#[reflect_trace]
fn hidden(_: TraceContext, _question: String) -> impl StreamExt {
    iter([String::new()])
}

#[reflect_trace(stream)]
fn right(_: TraceContext, _question: String) -> Tokens {
    iter([String::new()]).boxed()
}

fn main() {
    drop(right("this is right".to_owned()));
}
