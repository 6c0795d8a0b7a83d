use reflect_sdk::{TraceContext, TraceResult, reflect_trace};

#[reflect_trace]
const fn answer(_ctx: &TraceContext, _question: &str) -> &'static str {
    "no"
}

#[reflect_trace]
const fn number(ctx: &TraceContext, _question: &str) -> TraceResult<u8> {
    TraceResult::new(7, ctx.task())
}

fn main() {
    let _text: &str = answer("callers get no error");
    let _number: u8 = number("callers get no error");
}
