//! Panics, cancellations, and futures that are never polled.

use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};

use reflect_sdk::{Message, ReflectClient, TraceContext, reflect_trace};
use reflect_types::Verdict;
use serde_json::json;
use tokio::sync::oneshot;

use crate::script::Script;
use crate::world::{World, review};

#[reflect_trace(client = client)]
#[expect(clippy::panic, reason = "this is what the test is about")]
fn panics(ctx: &TraceContext, how: &str, client: &ReflectClient) -> String {
    ctx.record(Message::assistant("about to fail"));
    match how {
        "static" => panic!("static text"),
        "text" => panic!("text of {}", ctx.task()),
        _ => panic_any(7_u8),
    }
}

#[reflect_trace(client = client)]
async fn panics_later(ctx: &TraceContext, how: String, client: ReflectClient) -> String {
    tokio::task::yield_now().await;
    panic!("late {}", ctx.task())
}

#[test]
fn a_panic_is_recorded_as_a_failure_and_continues() {
    let world = World::new();
    let catch = |how| catch_unwind(AssertUnwindSafe(|| panics(how, &world.client))).unwrap_err();
    assert_eq!(*catch("static").downcast::<&str>().unwrap(), "static text");
    assert_eq!(*catch("text").downcast::<String>().unwrap(), "text of text");
    assert_eq!(*catch("other").downcast::<u8>().unwrap(), 7);
    let recorded = world.recorded();
    let reviews: Vec<_> = recorded
        .iter()
        .map(|trace| review(trace).unwrap())
        .collect();
    assert_eq!(
        reviews,
        [
            (Verdict::Fail, "static text"),
            (Verdict::Fail, "text of text"),
            (Verdict::Fail, "panicked with a value that is not a string"),
        ]
    );
    assert_eq!(
        recorded[0].trajectory,
        vec![Message::assistant("about to fail")].into()
    );
}

#[tokio::test]
async fn a_panic_in_a_task_is_recorded_and_ends_the_task() {
    let world = World::new();
    let task = tokio::spawn(panics_later("a".to_owned(), world.client.clone()));
    let error = task.await.unwrap_err();
    assert_eq!(*error.into_panic().downcast::<String>().unwrap(), "late a");
    assert_eq!(review(&world.only()), Some((Verdict::Fail, "late a")));
}

#[reflect_trace(client = client)]
async fn hangs(
    ctx: &TraceContext,
    question: String,
    client: ReflectClient,
    begun: oneshot::Sender<()>,
) -> String {
    ctx.record(Message::assistant("begun"));
    let _ = begun.send(());
    pending::<()>().await;
    question
}

/// Drops the future when the signal comes; the future must not complete before.
pub(crate) async fn cancel_when<T>(moment: oneshot::Receiver<()>, future: impl Future<Output = T>) {
    tokio::select! {
        _ = future => panic!("it ended by itself"),
        _ = moment => {}
    }
}

#[tokio::test]
async fn a_cancelled_run_is_recorded_once_without_a_verdict() {
    let world = World::new();
    let (begun, has_begun) = oneshot::channel();
    let task = tokio::spawn(hangs("aborted".to_owned(), world.client.clone(), begun));
    has_begun.await.unwrap();
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());

    let (begun, has_begun) = oneshot::channel();
    cancel_when(
        has_begun,
        hangs("dropped".to_owned(), world.client.clone(), begun),
    )
    .await;

    let recorded = world.recorded();
    assert_eq!(recorded.len(), 2);
    for trace in recorded {
        assert_eq!(review(&trace), None);
        assert_eq!(trace.metadata.get("outcome"), Some(&json!("cancelled")));
        assert_eq!(trace.trajectory, vec![Message::assistant("begun")].into());
    }
}

#[reflect_trace(client = client, on_cancel = "skip")]
async fn skips(
    _: &TraceContext,
    question: &str,
    client: &ReflectClient,
    begun: oneshot::Sender<()>,
) -> String {
    let _ = begun.send(());
    pending().await
}

#[reflect_trace(client = client, on_cancel = "fail")]
async fn fails(
    _: &TraceContext,
    question: &str,
    client: &ReflectClient,
    begun: oneshot::Sender<()>,
) -> String {
    let _ = begun.send(());
    pending().await
}

#[tokio::test]
async fn a_cancellation_may_count_as_a_failure_or_not_at_all() {
    let world = World::new();
    let (begun, has_begun) = oneshot::channel();
    cancel_when(has_begun, skips("a", &world.client, begun)).await;
    let (begun, has_begun) = oneshot::channel();
    cancel_when(has_begun, fails("b", &world.client, begun)).await;
    let trace = world.only();
    assert_eq!(trace.task, "b");
    assert_eq!(review(&trace).unwrap().0, Verdict::Fail);
}

#[tokio::test]
async fn a_sibling_of_a_panic_is_cancelled_not_failed() {
    let world = World::new();
    let (begun, has_begun) = oneshot::channel();
    let client = world.client.clone();
    let task = tokio::spawn(async move {
        let innocent = hangs("innocent".to_owned(), client.clone(), begun);
        let guilty = async {
            has_begun.await.unwrap();
            panics_later("guilty".to_owned(), client.clone()).await
        };
        tokio::join!(innocent, guilty)
    });
    assert!(task.await.unwrap_err().is_panic());
    let mut recorded = world.recorded();
    recorded.sort_by(|one, other| one.task.cmp(&other.task));
    assert_eq!(review(&recorded[0]), Some((Verdict::Fail, "late guilty")));
    assert_eq!(review(&recorded[1]), None);
    assert_eq!(
        recorded[1].metadata.get("outcome"),
        Some(&json!("cancelled"))
    );
}

#[tokio::test]
async fn what_never_began_is_not_recorded() {
    let world = World::of(Script::default());
    let (begun, _) = oneshot::channel();
    drop(hangs(
        "never polled".to_owned(),
        world.client.clone(),
        begun,
    ));
    assert_eq!(world.script.queries.lock().unwrap().len(), 0);

    *world.script.slow_queries.lock().unwrap() = true;
    let (asked, was_asked) = oneshot::channel();
    let errand = Box::new(|| asked.send(()).unwrap());
    world.script.errands.lock().unwrap().push(errand);
    let (begun, _) = oneshot::channel();
    let early = hangs(
        "cancelled while it asked".to_owned(),
        world.client.clone(),
        begun,
    );
    cancel_when(was_asked, early).await;
    assert_eq!(world.recorded().len(), 0);
}
