//! Runs that end with a stream.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::{self, Stream, StreamExt, iter};
use reflect_sdk::{
    Message, OnCancel, ReflectClient, TraceBuilder, TraceContext, TraceGuard, TraceOutput, Verdict,
};
use reflect_types::{CreateTrace, Trajectory};

use crate::LIMIT;
use crate::script::{Script, client};

/// A run to start, and the traces that it leaves in the end.
struct World {
    client: ReflectClient,
    script: Arc<Script>,
}

impl World {
    fn new() -> Self {
        Self::of(Script::default())
    }

    fn of(script: Script) -> Self {
        let script = Arc::new(script);
        Self {
            client: client(&script),
            script,
        }
    }

    fn trace(&self) -> TraceBuilder {
        self.client.trace("task")
    }

    fn run(&self) -> TraceGuard {
        self.trace().start_blocking()
    }

    fn recorded(&self) -> Vec<CreateTrace> {
        assert!(self.client.blocking().flush(LIMIT).all_sent());
        self.script.taken()
    }

    #[track_caller]
    fn only(&self) -> CreateTrace {
        let [trace] = <[CreateTrace; 1]>::try_from(self.recorded()).unwrap();
        trace
    }
}

fn all<S: Stream>(stream: S) -> Vec<S::Item> {
    pollster::block_on(stream.collect())
}

/// Reads some items, and drops the stream.
fn first<S: Stream>(count: usize, stream: S) -> Vec<S::Item> {
    all(stream.take(count))
}

fn verdict(trace: &CreateTrace) -> Option<(Verdict, &str)> {
    let review = trace.review.as_ref()?;
    Some((review.result, review.feedback_text.as_deref().unwrap_or("")))
}

/// What the trace has as its answer.
fn answer(trace: &CreateTrace) -> &str {
    trace.final_response.as_deref().unwrap_or("-")
}

#[test]
fn a_stream_of_texts_is_recorded_when_it_ends() {
    let world = World::new();
    let mut stream = Box::pin(world.run().record_text_stream(iter(["Re", "fun", "ded."])));
    assert_eq!(stream.size_hint(), (3, Some(3)));
    let read = pollster::block_on(stream.by_ref().take(3).collect::<String>());
    assert_eq!(read, "Refunded.");
    assert!(world.recorded().is_empty());
    assert_eq!(pollster::block_on(stream.next()), None);
    let trace = world.only();
    assert_eq!((answer(&trace), verdict(&trace)), ("Refunded.", None));
    assert_eq!(trace.trajectory, Trajectory::from("Refunded."));
    assert!(trace.metadata.is_empty(), "{trace:?}");
    // It may be polled again.
    assert_eq!(pollster::block_on(stream.next()), None);
    assert_eq!(stream.size_hint(), (0, Some(0)));
    drop(stream);
    assert_eq!(world.recorded().len(), 1);
}

#[test]
fn items_that_are_no_text_are_folded() {
    let world = World::new();
    let counted = world.run().record_stream(iter([1, 2, 3]), |text, item| {
        *text += &item.to_string();
    });
    assert_eq!(all(counted), [1, 2, 3]);
    let fallible = iter([Ok(7), Err("seldom"), Ok(8)]);
    let tried = world.run().record_try_stream(fallible, |text, item| {
        *text += &item.to_string();
    });
    assert_eq!(all(tried).len(), 3);
    let recorded = world.recorded();
    assert_eq!((answer(&recorded[0]), verdict(&recorded[0])), ("123", None));
    assert_eq!(answer(&recorded[1]), "78");
    assert_eq!(verdict(&recorded[1]), Some((Verdict::Fail, "seldom")));
}

#[test]
fn an_error_fails_the_run_with_the_text_so_far() {
    let world = World::new();
    let items = || iter([Ok("Re"), Err("no rule"), Ok("funded."), Err("later")]);
    all(world.run().record_text_stream(items()));
    // Who stops at the error does not cancel the run: it has failed.
    first(2, world.run().record_text_stream(items()));
    let recorded = world.recorded();
    for (trace, text) in recorded.iter().zip(["Refunded.", "Re"]) {
        assert_eq!(verdict(trace), Some((Verdict::Fail, "no rule")));
        assert_eq!(answer(trace), text);
        assert!(!trace.metadata.contains_key("outcome"));
    }
}

#[test]
fn an_error_without_auto_fail_leaves_no_trace() {
    let world = World::new();
    let run = world.trace().auto_fail(false).start_blocking();
    all(run.record_text_stream(iter([Err::<String, _>("no rule")])));
    assert!(world.recorded().is_empty());
}

#[test]
fn a_stream_that_is_dropped_early_is_cancelled_with_its_text_so_far() {
    let world = World::new();
    let endless = || stream::repeat("more ");
    for on_cancel in [OnCancel::Record, OnCancel::Fail, OnCancel::Skip] {
        let run = world.trace().on_cancel(on_cancel).start_blocking();
        run.record(Message::user("Tell me"));
        first(2, run.record_text_stream(endless()));
    }
    drop(world.run().record_text_stream(endless()));
    let recorded = world.recorded();
    assert_eq!(recorded.len(), 3);
    for trace in &recorded {
        assert_eq!(trace.metadata["outcome"], "cancelled");
    }
    let messages = Trajectory::from([Message::user("Tell me")]);
    assert_eq!(
        (answer(&recorded[0]), verdict(&recorded[0])),
        ("more more ", None)
    );
    assert_eq!(recorded[0].trajectory, messages);
    assert_eq!(answer(&recorded[1]), "more more ");
    assert_eq!(verdict(&recorded[1]).unwrap().0, Verdict::Fail);
    assert_eq!(answer(&recorded[2]), "-", "it was never polled");
}

#[test]
fn a_panic_fails_the_run_and_continues() {
    let world = World::new();
    let items = iter([1, 2, 0]).map(|divisor: u32| (6 / divisor).to_string());
    let mut stream = Box::pin(world.run().record_text_stream(items));
    let panic = catch_unwind(AssertUnwindSafe(|| all(stream.by_ref()))).unwrap_err();
    let message = *panic.downcast::<&str>().unwrap();
    assert_eq!(message, "attempt to divide by zero");
    let trace = world.only();
    assert_eq!(verdict(&trace), Some((Verdict::Fail, message)));
    assert_eq!(answer(&trace), "63");
    let place = trace.metadata["panicked_at"].as_str().unwrap();
    assert!(place.contains("streams.rs:"), "{place}");
    assert_eq!(all(stream), [""; 0], "it is over");
    assert_eq!(world.recorded().len(), 1);
}

#[test]
fn a_fold_that_panics_harms_neither_the_stream_nor_its_text_so_far() {
    let world = World::new();
    let calls = Cell::new(0);
    let stream = world
        .run()
        .record_stream(iter([6, 3, 0, 2]), |text, item: &u32| {
            calls.set(calls.get() + 1);
            *text += &(6 / item).to_string();
        });
    assert_eq!(all(stream), [6, 3, 0, 2]);
    assert_eq!(calls.get(), 3, "it is not called again");
    let trace = world.only();
    assert_eq!((answer(&trace), verdict(&trace)), ("12", None));
    assert_eq!(trace.metadata["fold_panicked"], "attempt to divide by zero");
    let problem = world.client.stats().last_problem.unwrap();
    assert!(problem.contains("`fold` panicked"), "{problem}");
}

#[test]
fn the_text_of_an_endless_stream_is_cut_and_says_so() {
    let world = World::new();
    let kilobyte = "x".repeat(1024);
    let endless = || stream::repeat(&*kilobyte);
    first(1000, world.run().record_text_stream(endless()));
    let stream = world
        .run()
        .record_stream(endless(), |text, item| text.push_str(item));
    first(1000, stream);
    for trace in world.recorded() {
        let text = answer(&trace);
        assert!(text.ends_with("x…"), "{}", text.len());
        assert_eq!(text.len() - "…".len(), CreateTrace::MAX_STREAMED_TEXT);
        assert_eq!(trace.metadata["outcome"], "cancelled");
    }
    let problem = world.client.stats().last_problem.unwrap();
    assert!(problem.contains("the text of its stream"), "{problem}");
}

#[test]
fn what_the_run_says_of_itself_is_kept() {
    let world = World::new();
    let run = world.run();
    let context = run.context().clone();
    let items = iter(["Refunded."]).inspect(move |_| {
        let messages = vec![
            Message::assistant("I look it up"),
            Message::assistant("Yes"),
        ];
        context.set_output(TraceOutput::new(messages).pass().model("m"));
    });
    run.set_output(TraceOutput::recorded().task("Refund order 7"));
    all(run.record_text_stream(items));
    let trace = world.only();
    assert_eq!(trace.task, "Refund order 7");
    assert_eq!(
        (answer(&trace), verdict(&trace)),
        ("Refunded.", Some((Verdict::Pass, "")))
    );
    assert_eq!(trace.model.as_deref(), Some("m"));
    assert!(matches!(&trace.trajectory, Trajectory::Messages(messages) if messages.len() == 2));
}

#[test]
fn messages_that_were_recorded_are_the_trajectory() {
    let world = World::new();
    let run = world.run();
    run.record(Message::user("Refund it"));
    all(run.record_text_stream(iter(["Refunded."])));
    let trace = world.only();
    assert_eq!(
        trace.trajectory,
        Trajectory::from([Message::user("Refund it")])
    );
    assert_eq!(answer(&trace), "Refunded.");
}

#[test]
fn an_error_before_the_stream_fails_the_run() {
    let world = World::new();
    let run = world.run();
    assert!(run.fail_on_err("seven".parse::<u8>()).is_err());
    all(run.record_text_stream(iter(["Seven?"])));
    let trace = world.only();
    let expected = (Verdict::Fail, "invalid digit found in string");
    assert_eq!(
        (answer(&trace), verdict(&trace)),
        ("Seven?", Some(expected))
    );
}

/// Yields the ID of the run that it is polled in, twice, and starts a run when it is dropped.
struct Nested(ReflectClient, u8);

impl Stream for Nested {
    type Item = String;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<String>> {
        self.1 += 1;
        let current = TraceContext::current().unwrap();
        Poll::Ready((self.1 < 3).then(|| current.run_id().to_owned()))
    }
}

impl Drop for Nested {
    fn drop(&mut self) {
        self.0.trace("clean up").run(|_| "clean");
    }
}

#[test]
fn the_stream_is_a_part_of_its_run_until_it_is_dropped() {
    let world = World::new();
    let run = world.run();
    let id = run.run_id().to_owned();
    let nested = || Nested(world.client.clone(), 0);
    assert_eq!(all(run.record_text_stream(nested())), [&*id, &*id]);
    drop(world.run().record_text_stream(nested()));
    assert!(TraceContext::current().is_none());
    let recorded = world.recorded();
    assert_eq!(recorded.len(), 4);
    for pair in recorded.chunks(2) {
        assert_eq!(pair[0].parent_run_id, pair[1].idempotency_key);
    }
}

#[test]
fn a_stream_put_in_a_scope_is_a_part_of_that_run() {
    let world = World::new();
    let run = world.run();
    let mut scoped = run.scope_stream(Nested(world.client.clone(), 0));
    assert_eq!(scoped.size_hint(), (0, None));
    assert_eq!(
        pollster::block_on(scoped.next()).as_deref(),
        Some(run.run_id())
    );
    drop(scoped);
    assert!(TraceContext::current().is_none());
    let id = run.run_id().to_owned();
    run.discard();
    assert_eq!(world.only().parent_run_id, Some(id));
}

#[test]
fn the_end_of_a_stream_may_wait_for_its_memory() {
    let script = Script::default();
    *script.looks.lock().unwrap() = Some(2);
    let world = World::of(script);
    let run = world.trace().until_learned(true).start_blocking();
    run.set_output(TraceOutput::recorded().pass());
    let handle = run.handle();
    let mut stream = pin!(run.record_text_stream(iter(["a"])));
    pollster::block_on(async {
        assert_eq!(stream.next().await, Some("a"));
        assert!(handle.trace_id().is_none());
        assert_eq!(stream.next().await, None);
        assert_eq!(
            *world.script.looks.lock().unwrap(),
            Some(0),
            "it was looked for"
        );
        assert_eq!(stream.next().await, None);
    });
}

#[test]
fn a_disabled_client_passes_the_stream_on() {
    let run = ReflectClient::disabled().trace("task").start_blocking();
    let stream = run.record_stream(iter([1, 2]), |_, _| unreachable!("nothing is recorded"));
    assert_eq!(all(stream), [1, 2]);
}

#[test]
fn a_recorded_stream_can_be_sent_and_moved_as_the_given_one_can() {
    fn is_free<T: Send + Unpin + 'static>(_: &T) {}
    is_free(&World::new().run().record_text_stream(iter(["a"])));
}
