//! Runs that record themselves, on every transport.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use reflect_sdk::{Message, Review, ReviewStatus, TraceOutput, TraceResult, Verdict};

use crate::on_every_transport;
use crate::world::World;

on_every_transport!(
    a_finished_run_is_recalled,
    a_blocking_run_has_taught_when_its_scope_ends,
    a_run_can_be_judged_later,
    a_panic_is_recorded_as_a_failed_run,
    a_closure_is_recorded_and_its_memories_are_credited,
);

const LIMIT: Duration = Duration::from_secs(20);

fn a_finished_run_is_recalled(world: &World) {
    let client = world.client();
    let run = client.trace("Refund order 7").start_blocking();
    assert_eq!(run.augmented_task(), "Refund order 7");
    run.set_output(TraceOutput::new("Refunded.").fail("ask for the date first"));
    let receipt = run.finish_blocking(LIMIT).unwrap();
    let stored = client.wait_for_trace(&receipt.trace_id).require_reviewed();
    stored.call().unwrap();

    let next = client.trace("Refund order 8").start_blocking();
    assert!(next.augmented_task().contains("ask for the date first"));
    next.discard();
}

fn a_blocking_run_has_taught_when_its_scope_ends(world: &World) {
    let client = world.client();
    {
        let run = client.trace("Refund order 7").blocking(true);
        let run = run.start_blocking();
        run.set_output(TraceOutput::new("Refunded.").pass());
    }
    assert_eq!(world.recall("Refund order 7").len(), 1);
}

fn a_run_can_be_judged_later(world: &World) {
    let client = world.client();
    let run = client.trace("Refund order 7").start_blocking();
    run.record(Message::assistant("Refunded."));
    run.set_output(TraceOutput::recorded());
    let handle = run.handle();
    drop(run);
    let receipt = handle.wait_blocking(LIMIT).unwrap();
    let stored = client.get_trace(&receipt.trace_id).call().unwrap();
    assert_eq!(stored.review_status, ReviewStatus::Pending);
    let judged = client.review_trace(&receipt.trace_id, Review::pass());
    assert!(judged.call().unwrap().created_memory_id.is_some());
}

fn a_panic_is_recorded_as_a_failed_run(world: &World) {
    let client = world.client();
    let mut handle = None;
    let crash = catch_unwind(AssertUnwindSafe(|| {
        let run = client.trace("Refund order 7").start_blocking();
        handle = Some(run.handle());
        assert_eq!(run.task(), "something else", "the tool broke");
    }));
    assert!(crash.is_err());
    let receipt = handle.unwrap().wait_blocking(LIMIT).unwrap();
    let stored = client.wait_for_trace(&receipt.trace_id).require_reviewed();
    let review = stored.call().unwrap().review.unwrap();
    assert_eq!(review.result, Verdict::Fail);
    assert!(review.feedback_text.unwrap().contains("the tool broke"));
}

fn a_closure_is_recorded_and_its_memories_are_credited(world: &World) {
    let client = world.client();
    let answer: u32 = client.trace("Add 1 and 2").blocking(true).run(|ctx| {
        assert!(ctx.memories().is_empty());
        TraceResult::new(3, "1 + 2 = 3").pass()
    });
    assert_eq!(answer, 3);
    let before = world.recall("Add 1 and 2")[0].q_value;
    client.trace("Add 1 and 2").blocking(true).run(|ctx| {
        assert_eq!(ctx.memories().len(), 1);
        TraceResult::new(3, "1 + 2 = 3").pass()
    });
    let recalled = world.recall("Add 1 and 2");
    let credited = recalled.iter().map(|memory| memory.q_value);
    assert!(credited.fold(0.0, f64::max) > before);
}
