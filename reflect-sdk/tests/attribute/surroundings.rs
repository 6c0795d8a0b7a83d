//! Other attributes, macros, shadowed names and paths of the crate.

use reflect_sdk::{ReflectClient, TraceContext, TraceResult, reflect_trace};

use crate::world::World;

/// A crate that re-exports the SDK.
mod outer {
    pub(crate) mod inner {
        pub(crate) use reflect_sdk as learning;
    }
}

#[reflect_trace(client = client, crate = crate::surroundings::outer::inner::learning)]
fn by_another_path(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(client = client, crate = outer::inner::learning)]
async fn by_a_relative_path(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

#[tokio::test]
async fn the_crate_may_be_reached_through_a_re_export() {
    let world = World::new();
    assert_eq!(by_another_path("a", &world.client), "a");
    assert_eq!(by_a_relative_path("b", &world.client).await, "b");
    assert_eq!(world.tasks(), ["a", "b"]);
}

/// Shadows every name that an expansion could use.
mod shadowed {
    #![allow(dead_code, reason = "nothing here may be used")]

    use std::string::String as Text;

    use ::reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

    mod reflect_sdk {}
    mod core {}
    mod std_ {}

    struct Some;
    struct None;
    struct Ok;
    struct Err;
    struct Box;
    struct Option;
    struct Result;
    struct String;
    trait Future {}
    trait Send {}

    #[reflect_trace(client = client)]
    pub(super) fn answer(ctx: &TraceContext, question: &str, client: &ReflectClient) -> Text
    where
        Text: Clone,
    {
        Text::from(ctx.task())
    }

    #[reflect_trace(client = client, boxed, until_learned = false)]
    pub(super) async fn later(ctx: &TraceContext, question: &str, client: &ReflectClient) -> Text
    where
        Text: Clone,
    {
        Text::from(ctx.task())
    }
}

#[tokio::test]
async fn user_names_may_shadow_the_prelude_and_the_crate() {
    let world = World::new();
    assert_eq!(shadowed::answer("a", &world.client), "a");
    assert_eq!(shadowed::later("b", &world.client).await, "b");
    assert_eq!(world.tasks(), ["a", "b"]);
}

macro_rules! agent {
    ($name:ident, $question:ident: $type:ty, $body:expr) => {
        struct $name {
            client: ReflectClient,
        }

        impl $name {
            #[reflect_trace(client = self.client)]
            fn answer(&self, ctx: &TraceContext, $question: $type) -> String {
                let text = ctx.task().to_owned();
                text + self.name() + $body
            }

            #[reflect_trace(client = self.client)]
            async fn later(&self, ctx: &TraceContext, $question: $type) -> String {
                macro_rules! name {
                    ($it:ident) => {
                        $it.name()
                    };
                }
                ctx.task().to_owned() + name!(self) + $body
            }

            fn name(&self) -> &'static str {
                stringify!($name)
            }
        }
    };
}

agent!(Parrot, question: &str, question);

#[tokio::test]
async fn functions_may_come_out_of_a_macro() {
    let world = World::new();
    let parrot = Parrot {
        client: world.client.clone(),
    };
    assert_eq!(parrot.answer("a"), "aParrota");
    assert_eq!(parrot.later("b").await, "bParrotb");
    assert_eq!(world.tasks(), ["a", "b"]);
}

macro_rules! with_options {
    ($name:ident, $inject:expr, $returns:literal, $task:expr) => {
        #[reflect_trace(client = client, inject_context = $inject, returns = $returns, task = $task)]
        fn $name(question: &str, client: &ReflectClient) -> TraceResult {
            question.into()
        }
    };
    (async $name:ident, $inject:literal, $cancel:literal, $sdk:path) => {
        #[reflect_trace(client = client, inject_context = $inject, on_cancel = $cancel, crate = $sdk)]
        async fn $name(question: &str, client: &ReflectClient) -> String {
            tokio::task::yield_now().await;
            question.to_owned()
        }
    };
}

with_options!(optioned, false, "result", |question| question.trim());
with_options!(async optioned_later, false, "skip", ::reflect_sdk);

#[tokio::test]
async fn options_may_come_out_of_a_macro() {
    let world = World::new();
    let result: TraceResult = optioned(" a ", &world.client);
    assert_eq!(result.output, " a ");
    assert_eq!(optioned_later("b", &world.client).await, "b");
    assert_eq!(world.tasks(), ["a", "b"]);
}

/// Documented.
#[deprecated = "to see whether that stays"]
#[must_use = "to see whether that stays"]
#[inline]
#[reflect_trace(client = client)]
pub(crate) fn adorned(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(client = client)]
#[must_use = "to see whether that stays"]
#[tracing::instrument(skip_all)]
async fn traced_then_instrumented(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> String {
    ctx.task().to_owned()
}

#[tracing::instrument(skip_all)]
#[reflect_trace(client = client)]
async fn instrumented_then_traced(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> String {
    ctx.task().to_owned()
}

#[tokio::test]
#[expect(deprecated, reason = "the warning is what is tested")]
async fn other_attributes_keep_their_meaning() {
    let world = World::new();
    let client = &world.client;
    #[expect(unused_must_use, reason = "the warning is what is tested")]
    {
        adorned("a", client);
        traced_then_instrumented("b", client).await;
    }
    assert_eq!(instrumented_then_traced("c", client).await, "c");
    assert_eq!(world.tasks(), ["a", "b", "c"]);
}

#[reflect_trace(inject_context = false, task = "a test")]
#[tokio::test]
async fn tests_may_be_traced() -> Result<TraceResult<()>, std::io::Error> {
    tokio::task::yield_now().await;
    Ok(TraceResult::recorded(()))
}

#[tokio::test]
#[reflect_trace(inject_context = false, task = "a test")]
async fn tests_may_be_traced_the_other_way_round() -> Result<TraceResult<()>, std::io::Error> {
    assert_eq!(TraceContext::current().unwrap().task(), "a test");
    tokio::task::yield_now().await;
    Ok(TraceResult::recorded(()))
}
