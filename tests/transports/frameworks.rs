//! Spans of a framework fill the trajectory of the run they start in.

use reflect_sdk::types::Usage;
use reflect_sdk::{
    BlockingClient, Message, ReflectLayer, Trace, TraceContext, TraceResult, reflect_trace,
};
use tracing_subscriber::prelude::*;

use crate::on_every_transport;
use crate::world::{LIMIT, World};

on_every_transport!(
    a_text_keeps_the_messages_that_spans_told,
    messages_of_the_function_stand,
    a_failed_run_keeps_what_was_said_before,
    a_call_within_a_call_hears_only_its_own,
);

/// A call of a model, as `rig` and `genai` trace it.
fn chat(question: &str, answer: &str) {
    let said = |role: &str, text: &str| {
        serde_json::json!([{"role": role, "parts": [{"type": "text", "content": text}]}])
            .to_string()
    };
    let span = tracing::info_span!(
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = "gpt-5.4-mini",
        gen_ai.input.messages = said("user", question),
        gen_ai.output.messages = tracing::field::Empty,
        gen_ai.usage.input_tokens = 11_u64,
    );
    let _entered = span.enter();
    span.record("gen_ai.output.messages", said("assistant", answer));
}

fn texts(trace: &Trace) -> Vec<String> {
    let text = |message: &Message| message.text().into_owned();
    trace.trajectory.iter().map(text).collect()
}

struct Desk {
    client: BlockingClient,
}

impl Desk {
    fn of(world: &World) -> Self {
        Self {
            client: world.client(),
        }
    }

    /// The traces after `work`, newest first.
    fn recorded(&self, work: impl FnOnce()) -> Vec<Trace> {
        let subscriber = tracing_subscriber::registry().with(ReflectLayer::new());
        tracing::subscriber::with_default(subscriber, work);
        self.client.flush(LIMIT);
        self.client.list_traces().call().unwrap().items
    }

    #[reflect_trace(client = self.client, task = question)]
    fn answer(&self, ctx: &TraceContext, question: &str) -> String {
        chat(ctx.task(), "Which order?");
        chat("Order 7", "Refunded.");
        "Refunded, finally.".to_owned()
    }

    #[reflect_trace(client = self.client, task = question, model = "another")]
    fn tell(&self, ctx: &TraceContext, question: &str) -> TraceResult {
        chat(ctx.task(), "Refunded.");
        TraceResult::new("Done".to_owned(), vec![Message::assistant("Done")])
    }

    #[reflect_trace(client = self.client, task = question)]
    fn fail(&self, ctx: &TraceContext, question: &str) -> Result<String, String> {
        chat(ctx.task(), "I cannot.");
        Err("no rule".to_owned())
    }

    #[reflect_trace(client = self.client, task = question)]
    fn ask_another(&self, ctx: &TraceContext, question: &str) -> String {
        chat(ctx.task(), "I ask another.");
        self.answer("Refund order 7")
    }
}

fn a_text_keeps_the_messages_that_spans_told(world: &World) {
    let desk = Desk::of(world);
    let traces = desk.recorded(|| {
        // Not in a run.
        chat("Nobody asks", "nobody answers");
        assert_eq!(desk.answer("Refund it"), "Refunded, finally.");
    });
    let trace = &traces[0];
    assert_eq!(
        texts(trace),
        ["Refund it", "Which order?", "Order 7", "Refunded."]
    );
    assert_eq!(trace.final_response, "Refunded, finally.");
    assert_eq!(trace.model.as_deref(), Some("gpt-5.4-mini"));
    assert_eq!(trace.usage, Some(Usage::new(22, 0)));
}

fn messages_of_the_function_stand(world: &World) {
    let desk = Desk::of(world);
    let traces = desk.recorded(|| drop(desk.tell("Refund it")));
    assert_eq!(texts(&traces[0]), ["Done"]);
    assert_eq!(traces[0].model.as_deref(), Some("another"));
    assert_eq!(traces[0].usage, Some(Usage::new(11, 0)));
}

fn a_failed_run_keeps_what_was_said_before(world: &World) {
    let desk = Desk::of(world);
    let traces = desk.recorded(|| drop(desk.fail("Refund it")));
    assert_eq!(texts(&traces[0]), ["Refund it", "I cannot."]);
}

fn a_call_within_a_call_hears_only_its_own(world: &World) {
    let desk = Desk::of(world);
    let traces = desk.recorded(|| drop(desk.ask_another("Refund it")));
    let of = |task: &str| traces.iter().find(|trace| trace.task == task).unwrap();
    assert_eq!(texts(of("Refund it")), ["Refund it", "I ask another."]);
    assert_eq!(texts(of("Refund order 7")).len(), 4);
}
