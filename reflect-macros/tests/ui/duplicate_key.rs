use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace(limit = 5, lambda = 0.5, limit = 6)]
fn answer(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

fn main() {
    answer("the function is still there");
}
