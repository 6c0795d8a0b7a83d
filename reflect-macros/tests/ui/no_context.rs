use reflect_sdk::{TraceResult, reflect_trace};

struct Agent;

impl Agent {
    #[reflect_trace(task = "tidy up")]
    fn tidy(&self) -> TraceResult {
        "tidy".into()
    }
}

fn main() {
    let _text: String = Agent.tidy();
}
