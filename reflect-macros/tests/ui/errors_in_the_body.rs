use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
fn wrong_type(ctx: &TraceContext, question: &str) -> String {
    ctx.task().len()
}

#[reflect_trace]
async fn wrong_type_later(ctx: &TraceContext, question: &str) -> Result<String, String> {
    if question.is_empty() {
        return Err(7);
    }
    Ok(ctx.task().to_owned())
}

#[reflect_trace]
fn unknown_name(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned() + questions
}

#[reflect_trace]
fn ends_with_a_semicolon(_: &TraceContext, question: &str) -> String {
    question.to_owned();
}

#[reflect_trace]
fn ends_with_a_semicolon_too(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned();
}

#[reflect_trace]
async fn empty(ctx: &TraceContext, question: &str) -> String {}

fn main() {}
