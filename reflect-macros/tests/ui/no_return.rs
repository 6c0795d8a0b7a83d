use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
fn answer(ctx: &TraceContext, question: &str) {
    println!("{} {question}", ctx.task());
}

fn main() {
    answer("the function is still there");
}
