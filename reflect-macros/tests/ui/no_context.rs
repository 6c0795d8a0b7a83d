use reflect_sdk::reflect_trace;

struct Agent;

impl Agent {
    #[reflect_trace(task = "tidy up")]
    fn tidy(&self) -> String {
        String::new()
    }
}

fn main() {
    Agent.tidy();
}
