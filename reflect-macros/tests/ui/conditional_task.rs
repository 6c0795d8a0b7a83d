use reflect_sdk::{TraceContext, reflect_trace};

#[reflect_trace]
fn answer(
    ctx: &TraceContext,
    #[cfg(not(any()))] question: &str,
    customer: &str,
) -> String {
    [ctx.task(), question, customer].concat()
}

#[reflect_trace(task = |question, customer| format!("{question} {customer}"))]
async fn answer_later(
    ctx: &TraceContext,
    question: &str,
    #[cfg(any())] order: u32,
    customer: &str,
) -> String {
    [ctx.task(), question, customer].concat()
}

fn main() {
    answer("the function is still there", "acme");
    drop(answer_later("the function is still there", "acme"));
}
