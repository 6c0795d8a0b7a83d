//! Functions under `#[reflect_trace]`, on every transport.

use std::cell::Cell;
use std::future::pending;
use std::panic::catch_unwind;

use reflect_sdk::{
    BlockingClient, Error, Message, Review, ReviewStatus, Trace, TraceContext, TraceResult,
    Verdict, reflect_trace,
};
use tokio::runtime::Builder;

use crate::on_every_transport;
use crate::runs::cancel_once;
use crate::world::{LIMIT, World};

on_every_transport!(
    what_one_call_learns_the_next_is_shown,
    a_call_that_passes_credits_what_it_was_shown,
    a_text_is_recorded_and_judged_later,
    every_option_arrives,
    an_error_is_recorded_as_a_failed_run_and_returned,
    a_panic_is_recorded_as_a_failed_run_and_continues,
    a_cancelled_call_is_recorded_without_a_verdict,
    a_call_within_a_call_names_its_parent,
    a_strict_function_does_not_run_without_its_memories,
    a_function_that_waits_may_be_called_on_a_runtime,
    callers_may_learn_which_trace_it_became,
    calls_from_many_threads_are_all_recorded,
);

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

    /// Fails until a memory says how not to.
    #[reflect_trace(client = self.client, until_learned)]
    async fn refund(&self, ctx: &TraceContext, task: &str) -> TraceResult {
        let prompt = ctx.augmented_task().to_owned();
        let messages = vec![Message::user(&*prompt), Message::assistant("Done.")];
        let result = TraceResult::new(prompt, messages);
        if ctx.memories().is_empty() {
            result.fail("ask for the date first")
        } else {
            result.pass()
        }
    }

    #[reflect_trace(client = self.client)]
    fn shout(&self, ctx: &TraceContext, task: &str) -> String {
        ctx.task().to_uppercase()
    }

    #[reflect_trace(
        client = self.client,
        task = format!("Refund order {order}"),
        limit = 1,
        metadata_filter = [("customer", customer)],
        metadata = [("customer", customer)],
        model = "m",
        reference_context = "30 days",
        alpha = 1.0,
        until_learned = LIMIT,
    )]
    fn refund_for(&self, ctx: &TraceContext, order: u32, customer: &str) -> TraceResult<usize> {
        TraceResult::new(ctx.memories().len(), "Done.").pass()
    }

    #[reflect_trace(client = self.client)]
    fn parse(&self, ctx: &TraceContext, number: &str) -> Result<TraceResult<u32>, ParseError> {
        ctx.record(Message::assistant("I read it"));
        let parsed = number.parse()?;
        Ok(TraceResult::recorded(parsed).pass())
    }

    #[reflect_trace(client = self.client, inject_context = false)]
    async fn crash(&self, task: &str) -> String {
        panic!("the tool for `{task}` broke")
    }

    #[reflect_trace(client = self.client)]
    async fn hang(&self, ctx: TraceContext, task: &str, begun: &Cell<bool>) -> String {
        ctx.record(Message::assistant("Looking it up"));
        begun.set(true);
        pending().await
    }

    #[reflect_trace(client = self.client)]
    async fn plan(&self, _: &TraceContext, task: &str) -> String {
        self.shout("a step")
    }

    #[reflect_trace(client = self.client, strict, limit = limit)]
    async fn strictly(&self, ctx: &TraceContext, task: &str, limit: u32) -> Result<String, Error> {
        Ok(ctx.task().to_owned())
    }

    #[reflect_trace(client = self.client, limit = limit)]
    fn tolerantly(&self, ctx: &TraceContext, task: &str, limit: u32) -> Option<String> {
        ctx.retrieval_error().map(ToString::to_string)
    }

    #[reflect_trace(client = self.client, returns = "result", until_learned)]
    fn known(&self, ctx: &TraceContext, task: &str) -> TraceResult {
        TraceResult::from(ctx.task()).pass()
    }
}

type ParseError = std::num::ParseIntError;

fn what_one_call_learns_the_next_is_shown(world: &World) {
    let agent = Agent::of(world);
    let first = pollster::block_on(agent.refund("Refund order 7"));
    assert_eq!(first, "Refund order 7");
    let second = pollster::block_on(agent.refund("Refund order 12"));
    assert!(second.starts_with("Refund order 12"), "{second}");
    assert!(second.contains("ask for the date first"), "{second}");

    let [later, earlier] = &world.traces()[..] else {
        panic!("two traces expected");
    };
    let failed = Some((Verdict::Fail, "ask for the date first"));
    assert_eq!(
        (judged(earlier), judged(later)),
        (failed, Some((Verdict::Pass, "")))
    );
    assert_eq!(later.task, "Refund order 12", "without the memories");
    let learned = earlier.created_memory_id.clone().unwrap();
    assert_eq!(later.retrieved_memory_ids, [learned]);
}

fn a_call_that_passes_credits_what_it_was_shown(world: &World) {
    let agent = Agent::of(world);
    pollster::block_on(agent.refund("Refund order 7"));
    let before = world.recall("Refund order 7").remove(0);
    pollster::block_on(agent.refund("Refund order 8"));
    let after = world.recall("Refund order 7");
    let after = after.iter().find(|memory| memory.id == before.id).unwrap();
    assert!(after.q_value > before.q_value);
}

fn a_text_is_recorded_and_judged_later(world: &World) {
    assert_eq!(Agent::of(world).shout("why?"), "WHY?");
    let trace = world.only();
    assert_eq!(trace.final_response, "WHY?");
    assert_eq!(trace.review_status, ReviewStatus::Pending);
    assert!(world.recall("why?").is_empty());
    let review = world.client().review_trace(&trace.id, Review::pass());
    assert!(review.call().unwrap().created_memory_id.is_some());
    assert_eq!(world.recall("why?").len(), 1);
}

fn every_option_arrives(world: &World) {
    let agent = Agent::of(world);
    assert_eq!(agent.refund_for(7, "acme"), 0);
    assert_eq!(
        agent.refund_for(8, "other"),
        0,
        "whose memories are not shown"
    );
    assert_eq!(agent.refund_for(9, "acme"), 1);
    assert_eq!(
        agent.refund_for(10, "acme"),
        1,
        "of two, because of the limit"
    );
    let traces = world.traces();
    let trace = traces.last().unwrap();
    assert_eq!(trace.task, "Refund order 7");
    assert_eq!(trace.metadata["customer"], "acme");
    assert_eq!(trace.model.as_deref(), Some("m"));
    assert_eq!(trace.reference_context.as_deref(), Some("30 days"));
    let best = world.recall("Refund order 7").into_iter();
    let best = best.map(|memory| memory.q_value).fold(0.0, f64::max);
    assert!((best - 1.0).abs() < 1e-9, "alpha moves it all the way");
}

fn an_error_is_recorded_as_a_failed_run_and_returned(world: &World) {
    let agent = Agent::of(world);
    let error: ParseError = agent.parse("seven").unwrap_err();
    let trace = world.only();
    assert_eq!(judged(&trace), Some((Verdict::Fail, &*error.to_string())));
    assert_eq!(trace.trajectory, [Message::assistant("I read it")]);
    assert_eq!(agent.parse("7").unwrap(), 7);
    assert_eq!(judged(&world.traces()[0]), Some((Verdict::Pass, "")));
}

fn a_panic_is_recorded_as_a_failed_run_and_continues(world: &World) {
    let agent = Agent::of(world);
    let panic = catch_unwind(|| pollster::block_on(agent.crash("a"))).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert_eq!(message, "the tool for `a` broke");
    let trace = world.only();
    assert_eq!(judged(&trace), Some((Verdict::Fail, &**message)));
    assert_eq!(trace.trajectory, [Message::user("a")]);
}

fn a_cancelled_call_is_recorded_without_a_verdict(world: &World) {
    let (agent, begun) = (Agent::of(world), Cell::new(false));
    drop(agent.hang("never polled", &begun));
    cancel_once(&begun, agent.hang("cancelled", &begun));
    let trace = world.only();
    assert_eq!((&*trace.task, judged(&trace)), ("cancelled", None));
    assert_eq!(trace.metadata["outcome"], "cancelled");
    assert_eq!(trace.trajectory, [Message::assistant("Looking it up")]);
}

fn a_call_within_a_call_names_its_parent(world: &World) {
    let agent = Agent::of(world);
    assert_eq!(pollster::block_on(agent.plan("a plan")), "A STEP");
    let traces = world.traces();
    let of = |task| traces.iter().find(|trace| trace.task == task).unwrap();
    let (plan, step) = (of("a plan"), of("a step"));
    assert_eq!(traces.len(), 2);
    assert_eq!(step.parent_run_id, plan.run_id);
    assert_eq!(plan.parent_run_id, None);
}

fn a_strict_function_does_not_run_without_its_memories(world: &World) {
    let agent = Agent::of(world);
    let strictly = |limit| pollster::block_on(agent.strictly("a", limit));
    assert_eq!(strictly(100).unwrap(), "a");
    let error = strictly(101).unwrap_err();
    assert!(matches!(error, Error::Invalid(_)), "{error:?}");
    assert_eq!(
        world.traces().len(),
        1,
        "what did not begin is not recorded"
    );
    let told = agent.tolerantly("b", 101).unwrap();
    assert_eq!(told, error.to_string());
    assert_eq!(world.traces().len(), 2);
    assert_eq!(agent.client.stats().retrievals_failed, 1);
}

fn a_function_that_waits_may_be_called_on_a_runtime(world: &World) {
    let agent = Agent::of(world);
    let runtime = Builder::new_current_thread().build().unwrap();
    let learned = runtime.block_on(async { agent.refund_for(7, "acme") });
    assert_eq!(learned, 0);
    assert_eq!(world.recall("Refund order 7").len(), 1);
}

fn callers_may_learn_which_trace_it_became(world: &World) {
    let result = Agent::of(world).known("why?");
    assert_eq!(result.output, "why?");
    assert_eq!(result.trace_id(), Some(world.only().id));
}

fn calls_from_many_threads_are_all_recorded(world: &World) {
    let agent = &Agent::of(world);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for number in 0..5 {
                    let task = format!("task {thread} {number}");
                    assert_eq!(agent.shout(&task), task.to_uppercase());
                }
            });
        }
    });
    let traces = world.traces();
    assert_eq!(traces.len(), 20);
    for trace in traces {
        assert_eq!(trace.final_response, trace.task.to_uppercase());
    }
}
