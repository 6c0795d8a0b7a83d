//! The run that code belongs to.

use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};

use reflect_sdk::{Message, ReflectClient, TraceContext, TraceResult, reflect_trace};
use tokio::sync::oneshot;

use crate::endings::cancel_when;
use crate::script::Script;
use crate::world::World;

fn current() -> String {
    TraceContext::current().map_or_else(String::new, |ctx| ctx.task().to_owned())
}

#[reflect_trace(client = client)]
fn informed(ctx: &TraceContext, question: &str, client: &ReflectClient) -> TraceResult {
    let first = ctx.memories()[0].id.to_string();
    assert!(ctx.retrieval_error().is_none());
    let messages = vec![Message::user(ctx.augmented_task())];
    TraceResult::new(first, messages)
}

#[test]
fn memories_are_there_before_the_first_statement() {
    let world = World::of(Script::with_memory("m-1"));
    assert_eq!(informed("a", &world.client), "m-1");
    let trace = world.only();
    assert_eq!(trace.retrieved_memory_ids, ["m-1"]);
    assert_eq!(trace.task, "a", "without the memories");
}

#[reflect_trace(client = client)]
#[expect(clippy::panic, reason = "this is what the test is about")]
fn child(ctx: &TraceContext, how: &str, client: &ReflectClient) -> Result<String, String> {
    assert_eq!(current(), ctx.task());
    match how {
        "error" => Err(current()),
        "panic" => panic!("{}", current()),
        _ => Ok(ctx.parent().unwrap().task().to_owned()),
    }
}

#[reflect_trace(client = client)]
fn parent(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    for how in ["value", "error", "panic"] {
        let child = catch_unwind(AssertUnwindSafe(|| child(how, client)));
        match child {
            Ok(Ok(parent)) => assert_eq!((how, &*parent), ("value", ctx.task())),
            Ok(Err(task)) => assert_eq!((how, &*task), ("error", "error")),
            Err(_) => assert_eq!(how, "panic"),
        }
        assert_eq!(current(), question, "restored");
    }
    question.to_owned()
}

#[test]
fn nested_runs_know_their_parent_and_give_its_context_back() {
    let world = World::new();
    parent("outer", &world.client);
    assert!(TraceContext::current().is_none());
    let recorded = world.recorded();
    assert_eq!(recorded.len(), 4);
    let outer = recorded.iter().find(|trace| trace.task == "outer").unwrap();
    for child in recorded.iter().filter(|trace| trace.task != "outer") {
        assert_eq!(child.parent_run_id, outer.idempotency_key, "{child:?}");
    }
}

#[reflect_trace(client = client)]
fn outer(_: &TraceContext, t: &str, client: &ReflectClient) -> String {
    let disabled = ReflectClient::disabled();
    let middle = middle("middle", &disabled, client);
    pollster::block_on(middle_later("later", &disabled, client)) + &middle
}

#[reflect_trace(client = client)]
fn middle(
    ctx: &TraceContext,
    t: &str,
    client: &ReflectClient,
    enabled: &ReflectClient,
) -> TraceResult {
    assert_eq!((current().as_str(), ctx.task()), (t, t));
    assert_eq!(ctx.parent().unwrap().task(), "outer");
    TraceResult::from(child("value", enabled).unwrap()).pass()
}

#[reflect_trace(client = client)]
async fn middle_later(
    ctx: &TraceContext,
    t: &str,
    client: &ReflectClient,
    enabled: &ReflectClient,
) -> String {
    std::future::ready(()).await;
    assert_eq!((current().as_str(), ctx.task()), (t, t));
    child("value", enabled).unwrap()
}

#[test]
fn a_run_that_is_not_recorded_is_not_a_parent() {
    let world = World::new();
    assert_eq!(outer("outer", &world.client), "outerouter");
    let recorded = world.recorded();
    let [one, other, outer] = &recorded[..] else {
        unreachable!("{recorded:?}")
    };
    for child in [one, other] {
        assert_eq!(child.parent_run_id, outer.idempotency_key);
    }
}

/// Records into the current run.
fn notes_something() {
    if let Some(ctx) = TraceContext::current() {
        ctx.record(Message::assistant("a helper's"));
    }
}

#[reflect_trace(client = client)]
fn unseen(_ctx: &TraceContext, t: &str, client: &ReflectClient) -> String {
    notes_something();
    current()
}

#[reflect_trace(client = client, model = not_asked_for())]
async fn unseen_later(_ctx: &TraceContext, t: &str, client: &ReflectClient) -> String {
    tokio::task::yield_now().await;
    notes_something();
    current()
}

#[reflect_trace(client = client, strict)]
fn strictly_unseen(
    _ctx: &TraceContext,
    t: &str,
    client: &ReflectClient,
) -> Result<String, reflect_sdk::Error> {
    notes_something();
    Ok(current())
}

#[expect(clippy::panic, reason = "it must not be called")]
fn not_asked_for() -> String {
    panic!("the options of a run that is not recorded are not evaluated")
}

#[reflect_trace(client = client)]
async fn around_unseen(ctx: &TraceContext, t: &str, client: &ReflectClient) -> TraceResult {
    let disabled = ReflectClient::disabled();
    ctx.record(Message::assistant("its own"));
    let sync = unseen("sync", &disabled);
    let later = unseen_later("later", &disabled).await;
    let strict = strictly_unseen("strict", &disabled).unwrap();
    assert_eq!(current(), t);
    TraceResult::recorded(format!("{sync} {later} {strict}"))
}

#[tokio::test]
async fn what_a_run_of_a_disabled_client_notes_is_not_the_run_around_it() {
    let world = World::new();
    let said = around_unseen("outer", &world.client).await;
    assert_eq!(said, "sync later strict");
    let noted = [Message::assistant("its own")];
    assert_eq!(world.only().trajectory, noted.into());
    assert_eq!(unseen("alone", &ReflectClient::disabled()), "alone");
}

#[reflect_trace(client = client)]
async fn child_later(
    ctx: &TraceContext,
    how: &str,
    client: &ReflectClient,
    begun: Option<oneshot::Sender<()>>,
) -> String {
    for _ in 0..3 {
        assert_eq!(current(), ctx.task());
        tokio::task::yield_now().await;
    }
    if let Some(begun) = begun {
        begun.send(()).unwrap();
        pending::<()>().await;
    }
    ctx.parent().unwrap().task().to_owned()
}

#[reflect_trace(client = client)]
async fn parent_later(_: &TraceContext, question: &str, client: &ReflectClient) -> String {
    assert_eq!(child_later("value", client, None).await, question);
    assert_eq!(current(), question);
    let (begun, has_begun) = oneshot::channel();
    cancel_when(has_begun, child_later("hang", client, Some(begun))).await;
    assert_eq!(current(), question);
    let (one, two) = tokio::join!(
        child_later("one", client, None),
        child_later("two", client, None)
    );
    assert_eq!(current(), question);
    one + &two
}

#[tokio::test]
async fn awaits_do_not_mix_up_nested_runs() {
    let world = World::new();
    assert_eq!(parent_later("outer", &world.client).await, "outerouter");
    assert!(TraceContext::current().is_none());
    assert_eq!(world.recorded().len(), 5);
}

/// Sends the current task when it is dropped.
struct Last(std::sync::mpsc::Sender<String>);

impl Drop for Last {
    fn drop(&mut self) {
        let _ = self.0.send(current());
    }
}

#[reflect_trace(client = client)]
async fn holds(
    _: &TraceContext,
    question: &str,
    client: &ReflectClient,
    last: Last,
    begun: oneshot::Sender<()>,
) -> String {
    begun.send(()).unwrap();
    pending::<()>().await;
    drop(last);
    String::new()
}

#[tokio::test]
async fn what_a_cancelled_body_drops_still_belongs_to_the_run() {
    let world = World::new();
    let (sender, ended) = std::sync::mpsc::channel();
    let (begun, has_begun) = oneshot::channel();
    cancel_when(has_begun, holds("a", &world.client, Last(sender), begun)).await;
    assert_eq!(ended.recv().unwrap(), "a");
}

#[reflect_trace(client = client)]
async fn one_of_many(ctx: TraceContext, number: usize, client: ReflectClient) -> String {
    let own = ctx.run_id().to_owned();
    for _ in 0..5 {
        let here = TraceContext::current().unwrap();
        assert_eq!(here.run_id(), own);
        assert_eq!(here.task(), number.to_string());
        tokio::task::yield_now().await;
    }
    own
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_concurrent_runs_keep_apart() {
    let world = World::new();
    let tasks: Vec<_> = (0..1_000)
        .map(|number| tokio::spawn(one_of_many(number, world.client.clone())))
        .collect();
    let mut ids = std::collections::HashSet::new();
    for task in tasks {
        ids.insert(task.await.unwrap());
    }
    assert_eq!(ids.len(), 1_000);
    let mut recorded: Vec<usize> = world
        .tasks()
        .iter()
        .map(|task| task.parse().unwrap())
        .collect();
    recorded.sort_unstable();
    assert!(recorded.into_iter().eq(0..1_000));
}

#[tokio::test(flavor = "current_thread")]
async fn a_function_that_waits_may_be_called_on_a_runtime() {
    let world = World::of(Script::with_memory("m"));
    assert_eq!(informed("a", &world.client), "m");
    assert_eq!(world.tasks(), ["a"]);
}

#[test]
fn any_executor_will_do() {
    let world = World::new();
    let run = parent_alone("a", &world.client);
    assert_eq!(pollster::block_on(run), "a");
    assert_eq!(world.tasks(), ["a"]);
}

#[reflect_trace(client = client)]
async fn parent_alone(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

/// A function without a client of its own.
#[reflect_trace]
fn unsaid(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

struct CallsWhenDropped;

impl Drop for CallsWhenDropped {
    fn drop(&mut self) {
        unsaid("the end");
    }
}

#[test]
fn a_future_in_the_scope_of_a_client_is_dropped_in_that_scope() {
    let world = World::new();
    let owned = CallsWhenDropped;
    drop(world.client.scope(async move { drop(owned) }));
    assert_eq!(world.tasks(), ["the end"]);
}
