use reflect_sdk::{TraceContext, reflect_trace};

struct Question;

#[reflect_trace]
fn answer(ctx: &TraceContext, question: Question) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(task = questions)]
async fn answer_all(ctx: &TraceContext, questions: Vec<String>) -> String {
    ctx.task().to_owned()
}

fn main() {}
