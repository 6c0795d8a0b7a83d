//! The size and depth of traced futures.
#![expect(
    clippy::large_types_passed_by_value,
    reason = "this is what is measured"
)]

use std::mem::size_of_val;

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

use crate::world::World;

#[expect(
    clippy::large_types_passed_by_value,
    reason = "this is what is measured"
)]
async fn plain(question: [u8; 1024], client: ReflectClient) -> String {
    tokio::task::yield_now().await;
    drop(client);
    question.len().to_string()
}

#[reflect_trace(client = client, task = "size")]
async fn traced(ctx: &TraceContext, question: [u8; 1024], client: ReflectClient) -> String {
    tokio::task::yield_now().await;
    drop(client);
    question.len().to_string() + ctx.task()
}

#[reflect_trace(client = client, task = "size", until_learned)]
async fn blocking(ctx: &TraceContext, question: [u8; 1024], client: ReflectClient) -> String {
    tokio::task::yield_now().await;
    drop(client);
    question.len().to_string() + ctx.task()
}

/// Stays an `async fn`, which holds its arguments twice, because of `#[must_use]`.
#[reflect_trace(client = client, task = "size")]
#[must_use]
async fn traced_as_an_async_fn(
    ctx: &TraceContext,
    question: [u8; 1024],
    client: ReflectClient,
) -> String {
    tokio::task::yield_now().await;
    drop(client);
    question.len().to_string() + ctx.task()
}

#[reflect_trace(client = client, task = "size", boxed)]
async fn boxed(ctx: &TraceContext, question: u8, client: &ReflectClient) -> String {
    let large = [question; 4096];
    tokio::task::yield_now().await;
    large.len().to_string() + ctx.task()
}

#[tokio::test]
async fn a_traced_future_is_no_larger_than_a_plain_one() {
    let world = World::new();
    let plain = size_of_val(&plain([0; 1024], world.client.clone()));
    let traced = size_of_val(&traced([0; 1024], world.client.clone()));
    println!("plain {plain} B, traced {traced} B");
    assert!(traced <= plain, "plain {plain} B, traced {traced} B");
    let blocking = size_of_val(&blocking([0; 1024], world.client.clone()));
    println!("blocking {blocking} B");
    assert!(
        blocking <= plain.min(traced + 128),
        "plain {plain} B, blocking {blocking} B"
    );
    let shared = size_of_val(&traced_as_an_async_fn([0; 1024], world.client.clone()));
    println!("traced as an async fn {shared} B");
    assert!(shared <= plain + 128, "plain {plain} B, traced {shared} B");
    let boxed = size_of_val(&boxed(0, &world.client));
    println!("boxed {boxed} B");
    assert!(boxed <= 256, "boxed {boxed} B");
}

macro_rules! chain {
    ($name:ident) => {
        #[reflect_trace(client = client)]
        async fn $name(ctx: &TraceContext, depth: &str, client: &ReflectClient) -> String {
            ctx.task().to_owned()
        }
    };
    ($name:ident $next:ident $($rest:ident)*) => {
        #[reflect_trace(client = client)]
        async fn $name(ctx: &TraceContext, depth: &str, client: &ReflectClient) -> String {
            tokio::task::yield_now().await;
            $next(ctx.task(), client).await
        }
        chain!($next $($rest)*);
    };
}

chain!(f20 f19 f18 f17 f16 f15 f14 f13 f12 f11 f10 f9 f8 f7 f6 f5 f4 f3 f2 f1);

/// The compiler has a recursion limit for chains of futures, so it is enough that this compiles.
#[tokio::test]
async fn twenty_nested_traced_calls_can_be_sent() {
    let world = World::new();
    let client = world.client.clone();
    let task = tokio::spawn(async move { f20("deep", &client).await });
    assert_eq!(task.await.unwrap(), "deep");
    assert_eq!(world.recorded().len(), 20);
}
