//! What a traced future may cost.

use std::mem::size_of_val;

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

use crate::world::World;

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

#[reflect_trace(client = client, task = "size", boxed)]
async fn boxed(ctx: &TraceContext, question: u8, client: &ReflectClient) -> String {
    let large = [question; 4096];
    tokio::task::yield_now().await;
    large.len().to_string() + ctx.task()
}

#[tokio::test]
async fn a_traced_future_is_hardly_larger_than_a_plain_one() {
    let world = World::new();
    let plain = size_of_val(&plain([0; 1024], world.client.clone()));
    let traced = size_of_val(&traced([0; 1024], world.client.clone()));
    println!("plain {plain} B, traced {traced} B");
    assert!(traced <= plain + 128, "plain {plain} B, traced {traced} B");
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

chain!(f14 f13 f12 f11 f10 f9 f8 f7 f6 f5 f4 f3 f2 f1);

/// The compiler follows a chain of futures only so deep, so it is enough that this compiles.
#[tokio::test]
async fn fourteen_nested_traced_calls_can_be_sent() {
    fn sendable<T: Send>(future: T) -> T {
        future
    }
    let world = World::new();
    assert_eq!(sendable(f14("deep", &world.client)).await, "deep");
    assert_eq!(world.recorded().len(), 14);
}
