use reflect_sdk::{TraceContext, TraceResult, reflect_trace};

#[reflect_trace]
struct Agent;

#[reflect_trace]
impl Agent {
    fn answer(&self) -> String {
        String::new()
    }
}

trait Answer {
    #[reflect_trace]
    fn tidy(&self) -> String;

    #[reflect_trace]
    fn explain(&self, ctx: &TraceContext, question: &str) -> TraceResult;
}

impl Answer for Agent {
    fn tidy(&self) -> String {
        String::new()
    }

    #[reflect_trace]
    fn explain(&self, ctx: &TraceContext, question: &str) -> TraceResult {
        ctx.task().into()
    }
}

fn main() {
    Agent.answer();
    Agent.tidy();
    let _text: String = Agent.explain("callers get no error");
}
