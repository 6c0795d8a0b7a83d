use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

struct Wrong;

impl Wrong {
    fn is_bad(&self) -> bool {
        true
    }
}

#[reflect_trace(auto_fail = |error: &Wrong| error.is_bad())]
fn another_error(ctx: &TraceContext, question: &str) -> Result<String, String> {
    Err(ctx.task().to_owned())
}

#[reflect_trace(auto_fail = |_| true)]
async fn no_error(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(auto_fail = |error| error.len() > limit)]
fn an_argument(ctx: &TraceContext, question: &str, limit: usize) -> Result<String, String> {
    Err(ctx.task().to_owned())
}

#[reflect_trace(auto_fail = "never")]
fn a_text(ctx: &TraceContext, question: &str) -> Result<String, String> {
    Err(ctx.task().to_owned())
}

fn by_hand(client: &ReflectClient) {
    let _ = client.trace("a").auto_fail("never");
    let ruled = client.trace("a").auto_fail(|error: &Wrong| error.is_bad());
    let _ = ruled.run(|_| Err::<String, _>("another error"));
}

fn main() {
    another_error("the function is still there").unwrap_err();
    drop(no_error("the function is still there"));
    an_argument("the function is still there", 7).unwrap_err();
    a_text("the function is still there").unwrap_err();
}
