use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
const fn answer(ctx: &TraceContext, question: &str) -> &'static str {
    "no"
}

fn main() {}
