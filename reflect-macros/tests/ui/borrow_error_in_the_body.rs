use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
fn moved_twice(ctx: &TraceContext, question: String) -> String {
    drop(question);
    ctx.task().to_owned() + &question
}

#[reflect_trace]
async fn moved_twice_later(ctx: &TraceContext, question: String) -> String {
    drop(question);
    ctx.task().to_owned() + &question
}

fn main() {}
