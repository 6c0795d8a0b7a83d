//! Runs that end with a stream, on every transport.

use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::stream::{BoxStream, Stream, StreamExt, iter, repeat};
use reflect_sdk::{
    BlockingClient, Message, Review, Trace, TraceContext, TraceOutput, Verdict, reflect_trace,
};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    a_stream_is_recorded_whole_and_teaches,
    a_stream_that_is_dropped_early_is_recorded_with_its_text_so_far,
    an_error_among_the_items_fails_the_run,
    a_panic_in_the_stream_fails_the_run_and_continues,
    a_run_in_the_stream_finds_its_parent,
    a_guard_records_a_stream,
    an_endless_stream_is_recorded_up_to_a_limit,
    a_function_says_of_itself_what_it_does_not_return,
);

fn all<S: Stream>(stream: S) -> Vec<S::Item> {
    pollster::block_on(stream.collect())
}

/// The verdict and the feedback.
fn judged(trace: &Trace) -> Option<(Verdict, &str)> {
    let review = trace.review.as_ref()?;
    Some((review.result, review.feedback_text.as_deref().unwrap_or("")))
}

struct Agent {
    client: BlockingClient,
}

impl Agent {
    fn of(world: &World) -> Self {
        let client = world.client();
        Self { client }
    }

    #[reflect_trace(client = self.client, model = "m", until_learned)]
    fn answer(&self, ctx: TraceContext, task: &'static str) -> impl Stream<Item = String> {
        ctx.record(Message::user(ctx.augmented_task()));
        ctx.set_output(TraceOutput::recorded().pass());
        let prompt = ctx.augmented_task().to_owned();
        iter(["Refunded", ".", ""]).map(move |part| {
            let lesson = if prompt.contains("ask first") {
                " I asked first."
            } else {
                ""
            };
            if part.is_empty() {
                lesson.to_owned()
            } else {
                part.to_owned()
            }
        })
    }

    #[reflect_trace(client = self.client)]
    async fn parse(
        &self,
        _: TraceContext,
        numbers: &'static str,
    ) -> Result<BoxStream<'static, Result<&'static str, String>>, String> {
        let parse = |text: &'static str| match text.parse::<u8>() {
            Ok(7) => panic!("seven is too much"),
            Ok(_) => Ok(text),
            Err(error) => Err(error.to_string()),
        };
        Ok(iter(numbers.split(' ')).map(parse).boxed())
    }

    #[reflect_trace(client = self.client)]
    fn plan(&self, _: TraceContext, task: &'static str) -> impl Stream<Item = String> {
        iter(["first", "second"]).then(async |step| self.step(step).await)
    }

    #[reflect_trace(client = self.client)]
    async fn step(&self, ctx: &TraceContext, task: &str) -> String {
        ctx.task().to_owned()
    }

    #[reflect_trace(client = self.client)]
    fn shout(&self, ctx: &TraceContext, task: &str) -> String {
        ctx.record(Message::user(ctx.augmented_task()));
        ctx.set_output(TraceOutput::recorded().fail("too loud").model("m"));
        task.to_uppercase()
    }
}

fn a_stream_is_recorded_whole_and_teaches(world: &World) {
    let agent = Agent::of(world);
    assert_eq!(all(agent.answer("Refund order 7")).concat(), "Refunded.");
    let trace = world.only();
    assert_eq!(trace.final_response, "Refunded.");
    assert_eq!(trace.trajectory, [Message::user("Refund order 7")]);
    assert_eq!(trace.model.as_deref(), Some("m"));
    assert_eq!(judged(&trace), Some((Verdict::Pass, "")));
    agent
        .client
        .change_review(&trace.id, Review::fail("ask first"))
        .call()
        .unwrap();
    let read = all(agent.answer("Refund order 12")).concat();
    assert_eq!(read, "Refunded. I asked first.");
}

fn a_stream_that_is_dropped_early_is_recorded_with_its_text_so_far(world: &World) {
    let agent = Agent::of(world);
    drop(agent.answer("never polled"));
    let parsed = pollster::block_on(agent.parse("1 2 3")).unwrap();
    assert_eq!(all(parsed.take(2)), [Ok("1"), Ok("2")]);
    let trace = world.only();
    assert_eq!((&*trace.final_response, judged(&trace)), ("12", None));
    assert_eq!(trace.metadata["outcome"], "cancelled");
}

fn an_error_among_the_items_fails_the_run(world: &World) {
    let agent = Agent::of(world);
    let parsed = pollster::block_on(agent.parse("1 two 3")).unwrap();
    assert_eq!(all(parsed).len(), 3);
    let trace = world.only();
    assert_eq!(trace.final_response, "13");
    let feedback = "invalid digit found in string";
    assert_eq!(judged(&trace), Some((Verdict::Fail, feedback)));
}

fn a_panic_in_the_stream_fails_the_run_and_continues(world: &World) {
    let agent = Agent::of(world);
    let parsed = pollster::block_on(agent.parse("1 7")).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| all(parsed))).unwrap_err();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "seven is too much");
    let trace = world.only();
    assert_eq!(trace.final_response, "1");
    assert_eq!(judged(&trace), Some((Verdict::Fail, "seven is too much")));
}

fn a_run_in_the_stream_finds_its_parent(world: &World) {
    let agent = Agent::of(world);
    assert_eq!(all(agent.plan("a plan")), ["first", "second"]);
    let traces = world.traces();
    let of = |task| traces.iter().find(|trace| trace.task == task).unwrap();
    for step in ["first", "second"] {
        assert_eq!(of(step).parent_run_id, of("a plan").run_id);
    }
}

fn a_guard_records_a_stream(world: &World) {
    let client = world.client();
    let run = client.trace("Count").start_blocking();
    let counted = run.record_stream(iter([1, 2, 3]), |text, number| {
        *text += &number.to_string();
    });
    assert_eq!(all(counted), [1, 2, 3]);
    assert_eq!(world.only().final_response, "123");
    let run = client.trace("Count again").start_blocking();
    run.set_output(TraceOutput::recorded().pass());
    let broken = iter([Ok(1), Err("lost count"), Ok(3)]);
    all(run.record_try_stream(broken, |text, number| *text += &number.to_string()));
    let trace = &world.traces()[0];
    assert_eq!(trace.final_response, "13");
    assert_eq!(judged(trace), Some((Verdict::Fail, "lost count")));
}

fn an_endless_stream_is_recorded_up_to_a_limit(world: &World) {
    let client = world.client();
    // Each of its characters has six in JSON.
    let part = "\u{1}".repeat(1024);
    let run = client.trace("Count for ever").start_blocking();
    all(run.record_text_stream(repeat(&*part).take(1000)));
    let text = world.only().final_response;
    assert!(
        text.len() > 500_000 && text.ends_with('…'),
        "{}",
        text.len()
    );
}

fn a_function_says_of_itself_what_it_does_not_return(world: &World) {
    assert_eq!(Agent::of(world).shout("why?"), "WHY?");
    let trace = world.only();
    assert_eq!(
        (&*trace.final_response, trace.model.as_deref()),
        ("WHY?", Some("m"))
    );
    assert_eq!(trace.trajectory, [Message::user("why?")]);
    assert_eq!(judged(&trace), Some((Verdict::Fail, "too loud")));
}
