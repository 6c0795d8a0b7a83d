//! Options of a traced function that panic.

use std::fmt;

use reflect_sdk::{QueryOptions, ReflectClient, TraceContext, TraceResult, reflect_trace};
use serde::{Serialize, Serializer};

use crate::world::World;

/// A value that panics when it is used.
#[derive(Clone, Copy)]
struct Panics;

impl fmt::Display for Panics {
    #[expect(clippy::panic, reason = "this is what the test is about")]
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("the option panicked")
    }
}

impl Serialize for Panics {
    #[expect(clippy::panic, reason = "this is what the test is about")]
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("the option panicked")
    }
}

#[expect(clippy::panic, reason = "this is what the test is about")]
fn panics<T>() -> T {
    panic!("the option panicked")
}

#[reflect_trace(
    client = client, task = "task", query = panics::<QueryOptions>(), limit = panics::<u32>(),
    metadata = [("key", value)], metadata_filter = panics::<[(&str, &str); 1]>(), model = value,
    reference_context = panics::<String>(), alpha = panics(),
)]
fn every_option(ctx: &TraceContext, value: Panics, client: &ReflectClient) -> TraceResult {
    TraceResult::from(ctx.task()).pass()
}

#[reflect_trace(
    client = client, task = "task", metadata = value, metadata_filter = [("key", value)],
    model = format!("{value}"), reference_context = value, limit = panics::<u32>(),
    lambda = panics(), blocking = panics::<bool>(),
)]
async fn every_option_later(
    ctx: &TraceContext,
    value: Panics,
    client: &ReflectClient,
) -> TraceResult {
    tokio::task::yield_now().await;
    TraceResult::from(ctx.task()).pass()
}

#[tokio::test]
async fn options_that_panic_are_left_out_and_counted() {
    let world = World::new();
    assert_eq!(every_option(Panics, &world.client), "task");
    assert_eq!(world.client.stats().options_panicked, 7);
    assert_eq!(every_option_later(Panics, &world.client).await, "task");
    let stats = world.client.stats();
    assert_eq!(stats.options_panicked, 14, "{stats:?}");
    for trace in world.recorded() {
        assert_eq!((trace.task.as_str(), trace.model), ("task", None));
        assert!(trace.metadata.is_empty() && trace.review.is_some());
    }
}

#[reflect_trace(client = client)]
fn by_display(ctx: &TraceContext, value: Panics, client: &ReflectClient) -> String {
    format!("went on with {:?}", ctx.task())
}

#[reflect_trace(client = client, task = format!("{value}"))]
async fn by_expression(ctx: &TraceContext, value: Panics, client: &ReflectClient) -> String {
    format!("went on with {:?}", ctx.task())
}

#[reflect_trace(client = client, task = |value| value.to_string(), inject_context = false)]
fn by_closure(value: Panics, client: &ReflectClient) -> String {
    "went on".to_owned()
}

#[reflect_trace(client = client)]
fn unseen(_ctx: &TraceContext, value: Panics, client: &ReflectClient) -> String {
    "went on".to_owned()
}

#[tokio::test]
async fn a_task_that_panics_does_not_stop_the_function() {
    for client in [&World::new().client, &ReflectClient::disabled()] {
        assert_eq!(by_display(Panics, client), "went on with \"\"");
        assert_eq!(by_expression(Panics, client).await, "went on with \"\"");
        assert_eq!(by_closure(Panics, client), "went on");
        assert_eq!(unseen(Panics, client), "went on");
    }
}

#[reflect_trace(client = panics::<ReflectClient>())]
fn without_client(ctx: &TraceContext, question: &str) -> String {
    ctx.task().to_owned()
}

#[test]
fn a_client_that_panics_leaves_the_function_untraced() {
    assert_eq!(without_client("task"), "task");
}

#[reflect_trace(client = client, model = names.next().await.ok_or("none")?)]
async fn leaves(
    ctx: &TraceContext,
    question: &str,
    mut names: Names,
    client: &ReflectClient,
) -> Result<String, &'static str> {
    Ok(ctx.task().to_owned())
}

struct Names(Option<&'static str>);

impl Names {
    async fn next(&mut self) -> Option<&'static str> {
        tokio::task::yield_now().await;
        self.0.take()
    }
}

#[tokio::test]
async fn an_option_may_await_and_return() {
    let world = World::new();
    assert_eq!(
        leaves("a", Names(Some("m")), &world.client).await,
        Ok("a".to_owned())
    );
    assert_eq!(world.only().model.as_deref(), Some("m"));
    assert_eq!(leaves("a", Names(None), &world.client).await, Err("none"));
}
