use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
fn tidy(ctx: &TraceContext) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(task = |question, customer| question)]
fn answer(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

fn main() {
    tidy();
    answer("the function is still there");
}
