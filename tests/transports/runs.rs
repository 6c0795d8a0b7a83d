//! Runs that record themselves, on every transport.

use std::cell::Cell;
use std::future::{Future, IntoFuture, poll_fn};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::thread;

use reflect_sdk::{Message, Review, ReviewStatus, TraceOutput, TraceResult, Verdict};
use tokio::runtime::Builder;

use crate::on_every_transport;
use crate::world::{LIMIT, World};

on_every_transport!(
    a_finished_run_is_recalled,
    a_blocking_run_has_taught_when_its_scope_ends,
    a_run_can_be_judged_later,
    a_panic_is_recorded_as_a_failed_run,
    a_closure_is_recorded_and_its_memories_are_credited,
    an_error_fails_a_run_that_hands_it_through,
    a_later_output_replaces_an_earlier_one_but_its_task_stays,
    a_run_without_output_is_not_recorded,
    a_cancelled_run_is_recorded_without_a_verdict,
    runs_end_on_any_thread_and_after_their_runtime,
    a_flush_reports_what_has_arrived,
    a_run_that_is_kept_on_disk_arrives,
);

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
        let run = client.trace("Refund order 7").until_learned(true);
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
    let answer: u32 = client.trace("Add 1 and 2").until_learned(true).run(|ctx| {
        assert!(ctx.memories().is_empty());
        TraceResult::new(3, "1 + 2 = 3").pass()
    });
    assert_eq!(answer, 3);
    let before = world.recall("Add 1 and 2")[0].q_value;
    client.trace("Add 1 and 2").until_learned(true).run(|ctx| {
        assert_eq!(ctx.memories().len(), 1);
        TraceResult::new(3, "1 + 2 = 3").pass()
    });
    let recalled = world.recall("Add 1 and 2");
    let credited = recalled.iter().map(|memory| memory.q_value);
    assert!(credited.fold(0.0, f64::max) > before);
}

fn an_error_fails_a_run_that_hands_it_through(world: &World) {
    let client = world.client();
    let run = client.trace("Add the numbers").start_blocking();
    run.record(Message::assistant("I read: seven"));
    let read = run.fail_on_err("seven".parse::<u32>());
    assert!(read.is_err());
    drop(run);
    let trace = world.only();
    assert_eq!(trace.trajectory, [Message::assistant("I read: seven")]);
    let review = trace.review.unwrap();
    assert_eq!(review.result, Verdict::Fail);
    let feedback = review.feedback_text.as_deref();
    assert_eq!(feedback, Some("invalid digit found in string"));
}

fn a_later_output_replaces_an_earlier_one_but_its_task_stays(world: &World) {
    let client = world.client();
    let run = client.trace("Help").metadata("customer", "acme");
    let run = run.start_blocking();
    run.set_output(TraceOutput::new("Refunding.").task("Refund order 7"));
    run.set_output(TraceOutput::new("Refunded.").pass().model("m"));
    drop(run);
    let trace = world.only();
    assert_eq!(trace.task, "Refund order 7");
    assert_eq!(trace.final_response, "Refunded.");
    assert_eq!(trace.model.as_deref(), Some("m"));
    assert_eq!(trace.metadata["customer"], "acme");
    assert_eq!(world.recall("Refund order 7").len(), 1);
}

fn a_run_without_output_is_not_recorded(world: &World) {
    let client = world.client();
    drop(client.trace("Refund order 7").start_blocking());
    let run = client.trace("Refund order 7").start_blocking();
    run.set_output(TraceOutput::new("Refunded.").pass());
    run.discard();
    mem::forget(client.trace("Refund order 7").start_blocking());
    assert!(world.traces().is_empty());
    let stats = client.stats();
    assert_eq!((stats.abandoned, stats.discarded), (1, 1));
}

fn a_cancelled_run_is_recorded_without_a_verdict(world: &World) {
    let (client, begun) = (world.client(), Cell::new(false));
    let run = client.trace("Refund order 7").run_async(async |ctx| {
        ctx.record(Message::assistant("Looking it up"));
        begun.set(true);
        std::future::pending::<String>().await
    });
    cancel_once(&begun, run);
    let trace = world.only();
    assert!(trace.review.is_none());
    assert_eq!(trace.metadata["outcome"], "cancelled");
    assert_eq!(trace.trajectory, [Message::assistant("Looking it up")]);
}

/// Drops a future that never ends, once it has begun.
pub(crate) fn cancel_once<T>(begun: &Cell<bool>, future: impl Future<Output = T>) {
    let mut future = pin!(future);
    pollster::block_on(poll_fn(|cx| {
        assert!(future.as_mut().poll(cx).is_pending());
        if begun.get() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }));
}

fn runs_end_on_any_thread_and_after_their_runtime(world: &World) {
    let client = world.client_with(|builder| builder);
    let runtime = Builder::new_current_thread().build().unwrap();
    let run = runtime.block_on(client.trace("Refund order 7").into_future());
    drop(runtime);
    let ending = thread::spawn(move || {
        run.set_output(TraceOutput::new("Refunded.").pass());
        run.finish_blocking(LIMIT)
    });
    let receipt = ending.join().unwrap().unwrap();
    assert_eq!(world.only().id, receipt.trace_id);
}

fn a_flush_reports_what_has_arrived(world: &World) {
    let client = world.client();
    for number in 0..20 {
        let run = client
            .trace(format!("Refund order {number}"))
            .no_retrieval();
        run.start_blocking().set_output(TraceOutput::new("Done."));
    }
    let report = client.flush(LIMIT);
    assert_eq!((report.sent, report.all_sent()), (20, true));
    assert_eq!(client.flush(LIMIT), report, "it counts all runs so far");
    assert_eq!(world.traces().len(), 20);
}

fn a_run_that_is_kept_on_disk_arrives(world: &World) {
    let folder = tempfile::tempdir().unwrap();
    let client = world.client_with(|builder| builder.spool(folder.path()));
    let run = client.trace("Refund order 7").start_blocking();
    run.set_output(TraceOutput::new("Refunded.").pass());
    drop(run);
    let report = client.blocking().flush(LIMIT);
    assert_eq!((report.sent, report.all_sent()), (1, true));
    assert_eq!(client.stats().spooled, 0);
    assert_eq!(world.only().final_response, "Refunded.");
}
