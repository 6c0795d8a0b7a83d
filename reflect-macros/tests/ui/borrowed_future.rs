use std::pin::Pin;

use reflect_sdk::{TraceContext, reflect_trace};

struct Agent {
    name: String,
}

impl Agent {
    #[reflect_trace]
    fn answer(
        &mut self,
        ctx: TraceContext,
        question: String,
    ) -> Pin<Box<dyn Future<Output = String> + Send>> {
        let name = self.name.clone();
        Box::pin(async move { name + ctx.task() })
    }

    #[reflect_trace(inject_context = false)]
    fn explain(&self, question: String) -> impl Future<Output = String> + Send + 'static {
        let name = self.name.clone();
        async move { name + &question }
    }
}

fn main() {
    let mut agent = Agent {
        name: String::new(),
    };
    drop(agent.answer("callers get no error".to_owned()));
    drop(agent.explain("callers get no error".to_owned()));
}
