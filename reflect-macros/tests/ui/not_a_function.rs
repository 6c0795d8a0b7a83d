use reflect_sdk::reflect_trace;

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
    fn answer(&self) -> String;
}

fn main() {
    Agent.answer();
}
