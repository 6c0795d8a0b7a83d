use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace(crate = reflekt, model = "m")]
fn answer(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

fn main() {
    answer("the function is still there");
}
