use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
fn answer(ctx: &TraceContext, _question: &str) -> String {
    let thread = std::thread::spawn(move || ctx.task().to_owned());
    thread.join().unwrap()
}

#[reflect_trace]
async fn answer_later(ctx: &TraceContext, _question: &str) -> String {
    let task = tokio::spawn(async move { ctx.task().to_owned() });
    task.await.unwrap()
}

#[reflect_trace]
async fn by_value(ctx: TraceContext, _question: &str) -> String {
    let task = tokio::spawn(async move { ctx.task().to_owned() });
    task.await.unwrap()
}

fn main() {}
