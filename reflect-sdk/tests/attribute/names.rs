//! User names that the expansion could collide with.

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

use crate::world::World;

#[reflect_trace(client = client)]
fn names(
    ctx: &TraceContext,
    task: &str,
    (call, cx, fut, r): (&str, &str, &str, &str),
    client: &ReflectClient,
    (x, e, __arg1, argument_0): (&str, &str, &str, &str),
    (start, slot, value, context): (&str, &str, &str, &str),
) -> String {
    [
        ctx.task(),
        task,
        call,
        cx,
        fut,
        r,
        x,
        e,
        __arg1,
        argument_0,
        start,
        slot,
        value,
        context,
    ]
    .concat()
}

#[reflect_trace(client = client)]
async fn names_later(
    ctx: &TraceContext,
    call: Shown,
    cx: &str,
    client: &ReflectClient,
    (start, slot, value, context, body): (&str, &str, &str, &str, &str),
) -> String {
    [ctx.task(), call.0, cx, start, slot, value, context, body].concat()
}

/// Options see the arguments, not the variables of the expansion.
#[reflect_trace(
    client = start,
    task = client,
    model = task,
    reference_context = ctx,
    metadata = [("value", value), ("error", error)],
)]
fn names_in_options(
    _: &TraceContext,
    client: &str,
    task: &str,
    ctx: &str,
    start: &ReflectClient,
    (value, error): (&str, &str),
) -> String {
    [client, task, ctx, value, error].concat()
}

#[reflect_trace(
    client = start,
    task = client,
    model = task,
    reference_context = ctx,
    metadata = [("value", value), ("error", error)],
)]
async fn names_in_options_later(
    known: &TraceContext,
    client: &str,
    task: &str,
    ctx: &str,
    start: &ReflectClient,
    value: &str,
    error: &str,
) -> String {
    [known.task(), task, ctx, value, error].concat()
}

#[tokio::test]
async fn options_mean_the_arguments_of_the_same_name() {
    let world = World::new();
    let named = names_in_options("1", "2", "3", &world.client, ("4", "5"));
    assert_eq!(named, "12345");
    let named = names_in_options_later("1", "2", "3", &world.client, "4", "5");
    assert_eq!(named.await, "12345");
    for trace in world.recorded() {
        assert_eq!(trace.task, "1");
        assert_eq!(trace.model.as_deref(), Some("2"));
        assert_eq!(trace.reference_context.as_deref(), Some("3"));
        let metadata = serde_json::json!({"value": "4", "error": "5"});
        assert_eq!(serde_json::Value::from(trace.metadata), metadata);
    }
}

use shown::Shown;

mod shown {
    pub(super) struct Shown(pub(super) &'static str);
}

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

#[tokio::test]
async fn no_name_collides() {
    let world = World::new();
    let four = ("1", "2", "3", "4");
    let named = names("t", four, &world.client, four, four);
    assert_eq!(named, "tt123412341234");
    let five = ("1", "2", "3", "4", "5");
    let named = names_later(Shown("t"), "0", &world.client, five);
    assert_eq!(named.await, "tt012345");
}

/// The same names as items, which no variable can shadow.
mod items {
    #![allow(non_upper_case_globals, reason = "this is what the test is about")]

    use std::sync::LazyLock;

    use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

    static client: LazyLock<ReflectClient> = LazyLock::new(ReflectClient::disabled);
    pub(super) const start: u8 = 1;
    pub(super) const value: u8 = 2;
    pub(super) const slot: u8 = 3;
    pub(super) const error: u8 = 4;
    pub(super) const run: u8 = 5;
    pub(super) const task: u8 = 6;

    #[reflect_trace(client = client, strict)]
    pub(super) fn at_once(
        ctx: &TraceContext,
        question: &str,
    ) -> Result<String, reflect_sdk::Error> {
        Ok(ctx.task().to_owned())
    }

    #[reflect_trace(client = client, limit = 3)]
    pub(super) async fn later(_: &TraceContext, question: &str) -> String {
        question.to_owned()
    }

    #[reflect_trace(client = client, strict)]
    pub(super) async fn later_shown(
        ctx: &TraceContext,
        question: &str,
    ) -> Result<String, reflect_sdk::Error> {
        Ok(ctx.task().to_owned())
    }
}

#[tokio::test]
async fn no_item_collides() {
    use items::{error, run, slot, start, task, value};
    assert_eq!(items::at_once("a").unwrap(), "a");
    assert_eq!(items::later("b").await, "b");
    assert_eq!(items::later_shown("c").await.unwrap(), "c");
    assert_eq!(start + value + slot + error + run + task, 21);
}
