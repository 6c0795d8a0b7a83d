#![deny(dead_code)]

use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
fn never_called(_: &TraceContext, question: &str) -> String {
    question.to_owned()
}

#[reflect_trace]
async fn never_called_later(_: &TraceContext, question: &str) -> String {
    question.to_owned()
}

fn main() {}
