use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

#[reflect_trace(until_learned = 5)]
fn answer(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

fn guard(client: &ReflectClient) {
    let _run = client.trace("task").until_learned(5).start_blocking();
}

fn main() {
    answer("the function is still there");
    guard(&ReflectClient::disabled());
}
