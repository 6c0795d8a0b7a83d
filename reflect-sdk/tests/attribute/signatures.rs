//! Receivers, context parameters and qualifiers.

use std::pin::Pin;
use std::sync::Arc;

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

use crate::world::World;

#[reflect_trace(client = client)]
fn shout(ctx: TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.augmented_task().to_uppercase()
}

#[reflect_trace(client = client)]
async fn shout_later(ctx: TraceContext, question: String, client: ReflectClient) -> String {
    tokio::task::yield_now().await;
    ctx.augmented_task().to_uppercase()
}

#[test]
fn callers_of_a_function_do_not_pass_the_context() {
    let world = World::new();
    let shout: fn(&str, &ReflectClient) -> String = shout;
    assert_eq!(shout("why?", &world.client), "WHY?");
    let trace = world.only();
    assert_eq!(trace.task, "why?");
    assert_eq!(trace.final_response.as_deref(), Some("WHY?"));
}

#[tokio::test]
async fn callers_of_an_async_function_do_not_pass_the_context() {
    let world = World::new();
    let shouted = shout_later("why?".to_owned(), world.client.clone()).await;
    assert_eq!(shouted, "WHY?");
    assert_eq!(world.only().task, "why?");
}

struct Agent {
    client: ReflectClient,
    answered: usize,
}

impl Agent {
    #[reflect_trace(client = self.client)]
    fn by_reference(&self, ctx: &TraceContext, question: &str) -> String {
        format!("{}{}", ctx.task(), self.answered)
    }

    #[reflect_trace(client = self.client)]
    fn mutably(&mut self, ctx: &TraceContext, question: &str) -> String {
        self.answered += 1;
        ctx.task().to_owned()
    }

    #[reflect_trace(client = self.client)]
    async fn mutably_later(&mut self, ctx: &TraceContext, question: &str) -> String {
        tokio::task::yield_now().await;
        self.answered += 1;
        ctx.task().to_owned()
    }

    #[reflect_trace(client = self.client)]
    fn by_value(self, ctx: &TraceContext, question: &str) -> String {
        ctx.task().to_owned() + &self.answered.to_string()
    }

    #[reflect_trace(client = &self.client)]
    fn boxed(self: Box<Self>, ctx: &TraceContext, question: &str) -> String {
        ctx.task().to_owned() + &self.answered.to_string()
    }

    #[reflect_trace(client = self.client)]
    async fn shared(self: Arc<Self>, ctx: &TraceContext, question: String) -> String {
        tokio::task::yield_now().await;
        ctx.task().to_owned() + &self.answered.to_string()
    }

    #[reflect_trace(client = self.client)]
    fn pinned(mut self: Pin<&mut Self>, ctx: &TraceContext, question: &str) -> String {
        self.answered += 1;
        ctx.task().to_owned()
    }

    #[reflect_trace(client = Self::client(), task = "no receiver")]
    fn associated(_: &TraceContext) -> String {
        String::new()
    }

    fn client() -> Option<Arc<ReflectClient>> {
        None
    }
}

#[tokio::test]
async fn every_receiver_is_passed_on() {
    let world = World::new();
    let client = world.client.clone();
    let mut agent = Agent {
        client,
        answered: 0,
    };
    assert_eq!(agent.by_reference("a"), "a0");
    assert_eq!(agent.mutably("b"), "b");
    assert_eq!(agent.mutably_later("c").await, "c");
    assert_eq!(Pin::new(&mut agent).pinned("d"), "d");
    assert_eq!(agent.answered, 3);
    // The client was borrowed, not moved out.
    let client = agent.client.clone();
    assert_eq!(agent.by_value("e"), "e3");
    let boxed = Box::new(Agent {
        client: client.clone(),
        answered: 0,
    });
    assert_eq!(boxed.boxed("f"), "f0");
    let shared = Arc::new(Agent {
        client,
        answered: 9,
    });
    let spawned = tokio::spawn(Arc::clone(&shared).shared("g".to_owned()));
    assert_eq!(spawned.await.unwrap(), "g9");
    assert_eq!(Agent::associated(), "");
    assert_eq!(world.tasks(), ["a", "b", "c", "d", "e", "f", "g"]);
}

type Known = TraceContext;

#[reflect_trace(client = client)]
fn ctx_by_value(mut ctx: TraceContext, t: &str, client: &ReflectClient) -> String {
    let same = ctx.clone();
    assert!(ctx.memories().is_empty());
    ctx = same;
    ctx.task().to_owned()
}

#[reflect_trace(client = client)]
fn ctx_by_mut(ctx: &mut TraceContext, t: &str, client: &ReflectClient) -> String {
    let same = ctx.clone();
    *ctx = same;
    ctx.task().to_owned()
}

#[reflect_trace(client = client)]
async fn ctx_by_alias(ctx: &Known, t: &str, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(client = client)]
async fn ctx_by_mut_later(ctx: &mut Known, t: &str, client: &ReflectClient) -> String {
    tokio::task::yield_now().await;
    ctx.task().to_owned()
}

#[reflect_trace(client = client)]
fn ctx_ignored(_: TraceContext, t: &str, client: &ReflectClient) -> String {
    t.to_owned()
}

#[reflect_trace(client = client)]
fn ctx_named_in_a_format_string(ctx: &TraceContext, t: &str, client: &ReflectClient) -> String {
    format!("{ctx:?}")
}

#[tokio::test]
async fn the_context_has_the_requested_type() {
    let world = World::new();
    let client = &world.client;
    assert_eq!(ctx_by_value("a", client), "a");
    assert_eq!(ctx_by_mut("b", client), "b");
    assert_eq!(ctx_by_alias("c", client).await, "c");
    assert_eq!(ctx_by_mut_later("d", client).await, "d");
    assert_eq!(ctx_ignored("e", client), "e");
    assert!(ctx_named_in_a_format_string("f", client).contains("task: \"f\""));
    assert_eq!(world.tasks(), ["a", "b", "c", "d", "e", "f"]);
}

#[expect(unsafe_code, reason = "this is what the test is about")]
unsafe fn dangerous(text: &str) -> String {
    text.to_owned()
}

/// # Safety
/// None is needed.
#[expect(unsafe_code, reason = "this is what the test is about")]
#[reflect_trace(client = client)]
unsafe fn not_safe(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    // SAFETY: it only copies.
    unsafe { dangerous(ctx.task()) }
}

#[expect(improper_ctypes_definitions, reason = "no foreign code calls it")]
#[reflect_trace(client = client)]
extern "C" fn foreign(ctx: &TraceContext, question: u32, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

#[test]
#[expect(unsafe_code, reason = "this is what the test is about")]
fn qualifiers_stay() {
    let world = World::new();
    // SAFETY: it only copies.
    assert_eq!(unsafe { not_safe("a", &world.client) }, "a");
    let foreign: extern "C" fn(u32, &ReflectClient) -> String = foreign;
    assert_eq!(foreign(7, &world.client), "7");
    assert_eq!(world.tasks(), ["a", "7"]);
}
