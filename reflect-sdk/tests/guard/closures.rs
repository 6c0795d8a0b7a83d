//! Runs whose body is a closure or a future.

use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::{Arc, Mutex};

use reflect_sdk::{
    Message, OnCancel, ReflectClient, TraceContext, TraceResult, TraceReturn, Verdict,
};
use reflect_types::{CreateTrace, ErrorCode, Trajectory};
use tokio::sync::oneshot;

use crate::LIMIT;
use crate::script::{Script, client};

fn judged(trace: &CreateTrace) -> (Verdict, &str) {
    let review = trace.review.as_ref().unwrap();
    let feedback = review.feedback_text.as_deref();
    (review.result, feedback.unwrap_or_default())
}

#[test]
fn the_caller_gets_the_output_and_the_record_is_sent() {
    let script = Arc::new(Script::with_memory("m1"));
    let client = client(&script);
    let output: usize = client.trace("task").run(|ctx| {
        assert!(ctx.augmented_task().contains("ask first"));
        assert_eq!(TraceContext::current().unwrap().run_id(), ctx.run_id());
        TraceResult::new(7, "did it").pass()
    });
    assert_eq!(output, 7);
    assert!(TraceContext::current().is_none());
    assert!(client.blocking().flush(LIMIT).all_sent());
    assert_eq!(judged(&script.taken()[0]), (Verdict::Pass, ""));
}

#[test]
fn every_form_of_return_is_recorded_as_it_should() {
    fn record<R: TraceReturn>(value: R) -> Vec<CreateTrace> {
        let script = Arc::new(Script::default());
        let client = client(&script);
        client.trace("task").run(|_| value);
        client.blocking().flush(LIMIT);
        script.taken()
    }
    for text in [
        record("a".to_owned()),
        record("a"),
        record(Ok::<_, String>("a")),
        record(Some("a")),
        record(std::borrow::Cow::from("a")),
        record(Box::<str>::from("a")),
        record(Arc::<str>::from("a")),
        record(TraceResult::from("a")),
    ] {
        assert_eq!(text[0].trajectory, Trajectory::from("a"));
        assert_eq!(text[0].final_response.as_deref(), Some("a"));
        assert_eq!(text[0].review, None);
    }
    assert_eq!(record(None::<String>), []);
    let failed = record(Err::<String, _>("no"));
    assert_eq!(judged(&failed[0]), (Verdict::Fail, "no"));
    let judgement = record(Ok::<_, String>(TraceResult::new((), "x").fail("bad")));
    assert_eq!(judged(&judgement[0]), (Verdict::Fail, "bad"));
    assert_eq!(judgement[0].final_response, None);
}

#[test]
fn a_panic_is_recorded_exactly_and_continues() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let panics: [fn(&str); 3] = [
        |_| panic!("a text"),
        |task| panic!("a text about {task}"),
        |_| panic_any(7),
    ];
    for panic in panics {
        let caught = catch_unwind(AssertUnwindSafe(|| {
            client.trace("task").run(|ctx| {
                // Neither a panic that is over nor one in a destructor is the culprit.
                let _ = catch_unwind(|| panic!("handled"));
                let _cleanup = PanicsInDrop;
                panic(ctx.task());
                "unreachable"
            })
        }));
        assert!(caught.is_err());
        assert!(TraceContext::current().is_none());
    }
    client.blocking().flush(LIMIT);
    let traces = script.taken();
    assert_eq!(judged(&traces[0]), (Verdict::Fail, "a text"));
    assert_eq!(judged(&traces[1]), (Verdict::Fail, "a text about task"));
    let (verdict, text) = judged(&traces[2]);
    assert!(
        verdict == Verdict::Fail && text.contains("not a string"),
        "{text}"
    );
}

/// Panics in its destructor, and catches that.
struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        #[expect(clippy::panic, reason = "this is what the test is about")]
        let _ = catch_unwind(|| panic!("in a destructor"));
    }
}

#[tokio::test]
async fn a_run_within_a_run_names_its_parent() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let result: Result<String, String> = client
        .trace("outer")
        .run_async(async |outer| {
            let inner = client.trace("inner").run_async(async |ctx| {
                tokio::task::yield_now().await;
                assert_eq!(TraceContext::current().unwrap().run_id(), ctx.run_id());
                assert_eq!(ctx.parent().unwrap().run_id(), outer.run_id());
                ctx.task().to_owned()
            });
            let inner = inner.await;
            let restored = TraceContext::current().unwrap();
            assert_eq!(restored.run_id(), outer.run_id());
            Err::<String, _>(format!("after {inner}"))
        })
        .await;
    assert_eq!(result.unwrap_err(), "after inner");
    assert!(TraceContext::current().is_none());
    assert!(client.flush(LIMIT).await.all_sent());
    let traces = script.taken();
    let (inner, outer) = (&traces[0], &traces[1]);
    assert_eq!(inner.parent_run_id, outer.idempotency_key);
    assert_eq!(outer.parent_run_id, None);
    assert_eq!(judged(&traces[1]), (Verdict::Fail, "after inner"));
}

#[test]
fn a_run_has_the_session_of_the_run_around_it_unless_it_has_its_own() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = |task: &str| client.trace(task).no_retrieval();
    run("outer").session("ticket 7").run(|outer| {
        assert_eq!(outer.session_id(), Some("ticket 7"));
        run("inner").run(|_| run("innermost").run(|_| "done"));
        run("other").session("ticket 8").run(|_| "done")
    });
    client.blocking().flush(LIMIT);
    let mut sessions: Vec<_> = script
        .taken()
        .into_iter()
        .map(|trace| (trace.task, trace.session_id.unwrap()))
        .collect();
    sessions.sort_unstable();
    let sessions: Vec<_> = sessions.iter().map(|(task, id)| (&**task, &**id)).collect();
    let expected = [
        ("inner", "ticket 7"),
        ("innermost", "ticket 7"),
        ("other", "ticket 8"),
        ("outer", "ticket 7"),
    ];
    assert_eq!(sessions, expected);
}

#[tokio::test]
async fn a_guard_gives_its_context_to_what_is_put_in_its_scope() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let run = client.trace("outer").await;
    assert!(TraceContext::current().is_none());
    let here = || TraceContext::current().unwrap().run_id().to_owned();
    assert_eq!(run.context().in_scope(here), run.context().run_id());
    let spawned = run.context().scope(async move {
        tokio::task::yield_now().await;
        here()
    });
    assert_eq!(tokio::spawn(spawned).await.unwrap(), run.context().run_id());
}

/// Cancels a run; returns what was recorded.
async fn cancelled(on_cancel: OnCancel) -> Vec<CreateTrace> {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let (started, has_started) = oneshot::channel();
    let run = client
        .trace("task")
        .on_cancel(on_cancel)
        .run_async(async |ctx| {
            ctx.record(Message::assistant("step 1"));
            started.send(()).unwrap();
            pending::<String>().await
        });
    tokio::select! {
        _ = run => unreachable!("it never ends"),
        started = has_started => started.unwrap(),
    }
    assert!(client.flush(LIMIT).await.all_sent());
    script.taken()
}

#[tokio::test]
async fn a_cancelled_run_is_recorded_without_a_verdict() {
    let traces = cancelled(OnCancel::default()).await;
    assert_eq!(traces.len(), 1);
    assert_eq!(traces[0].review, None);
    assert_eq!(traces[0].metadata["outcome"], "cancelled");
    let step = Message::assistant("step 1");
    assert_eq!(traces[0].trajectory, Trajectory::from([step]));
}

#[tokio::test]
async fn a_cancelled_run_can_fail_or_be_skipped() {
    let failed = cancelled(OnCancel::Fail).await;
    assert_eq!(judged(&failed[0]).0, Verdict::Fail);
    assert_eq!(failed[0].metadata["outcome"], "cancelled");
    assert_eq!(cancelled(OnCancel::Skip).await, []);
}

#[tokio::test]
async fn an_innocent_sibling_is_cancelled_and_not_blamed() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let both = tokio::spawn({
        let client = client.clone();
        async move {
            let innocent = client
                .trace("innocent")
                .run_async(async |_| pending::<String>().await);
            let guilty = client.trace("guilty").run_async(async |_| {
                tokio::task::yield_now().await;
                panic!("my fault");
                #[expect(unreachable_code, reason = "it gives the closure its type")]
                String::new()
            });
            tokio::join!(innocent, guilty)
        }
    });
    assert!(both.await.unwrap_err().is_panic());
    client.flush(LIMIT).await;
    let traces = script.taken();
    let by_task = |task: &str| traces.iter().find(|trace| trace.task == task).unwrap();
    assert_eq!(judged(by_task("guilty")), (Verdict::Fail, "my fault"));
    assert_eq!(by_task("innocent").review, None);
    assert_eq!(by_task("innocent").metadata["outcome"], "cancelled");
}

#[tokio::test]
async fn a_panic_before_there_is_a_future_is_recorded_too() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    let handle = Arc::new(Mutex::new(None));
    let panics = tokio::spawn({
        let (client, handle) = (client.clone(), Arc::clone(&handle));
        async move {
            let run = client.trace("task").run_async(|ctx| {
                *handle.lock().unwrap() = Some(ctx.handle());
                assert_eq!(ctx.task(), "another", "no future");
                ready("unreachable")
            });
            run.await
        }
    });
    assert!(panics.await.unwrap_err().is_panic());
    let handle = handle.lock().unwrap().take().unwrap();
    handle.wait_blocking(LIMIT).unwrap();
    let traces = script.taken();
    let (verdict, text) = judged(&traces[0]);
    assert_eq!(verdict, Verdict::Fail);
    assert!(text.contains("no future"), "{text}");
    assert!(TraceContext::current().is_none());
}

#[tokio::test]
async fn a_run_that_was_never_polled_leaves_nothing() {
    let script = Arc::new(Script::default());
    let client = client(&script);
    drop(client.trace("task").run_async(async |_| "never"));
    client.flush(LIMIT).await;
    assert!(script.taken().is_empty() && script.queries.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_strict_run_that_gets_no_memories_returns_the_error() {
    let script = Arc::new(Script::default());
    *script.memories.lock().unwrap() = Err(ErrorCode::Forbidden);
    let client: ReflectClient = client(&script);
    let unreachable =
        |_: TraceContext| -> Result<String, reflect_sdk::Error> { panic!("it must not run") };
    let error = client.trace("t").strict().run(unreachable).unwrap_err();
    assert_eq!(error.status(), Some(403));
    let run = client.trace("t").strict();
    let error = run.run_async(async |ctx| unreachable(ctx)).await;
    assert_eq!(error.unwrap_err().status(), Some(403));
}
