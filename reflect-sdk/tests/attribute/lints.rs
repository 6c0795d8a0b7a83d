//! Traced functions in a crate that denies all lints, and in one that forbids those of the compiler.
//! It is enough that this compiles and passes clippy.
#![deny(
    warnings,
    rust_2018_idioms,
    unused,
    missing_docs,
    elided_lifetimes_in_paths,
    unused_qualifications,
    unused_lifetimes,
    single_use_lifetimes,
    let_underscore_drop,
    unreachable_pub,
    clippy::all,
    clippy::pedantic,
    clippy::nursery,
    clippy::blocks_in_conditions,
    clippy::expect_used,
    clippy::implicit_return,
    clippy::panic,
    clippy::shadow_reuse,
    clippy::shadow_same,
    clippy::shadow_unrelated,
    clippy::unwrap_used
)]
#![allow(
    clippy::needless_return,
    clippy::redundant_pub_crate,
    reason = "they are the opposites of `implicit_return` and `unreachable_pub`"
)]

use reflect_sdk::{ReflectClient, TraceContext, TraceResult, reflect_trace};

/// An agent.
pub(crate) struct Agent {
    client: ReflectClient,
}

/// An error.
#[derive(Debug)]
pub(crate) struct Failed;

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        return f.write_str("failed");
    }
}

impl From<reflect_sdk::Error> for Failed {
    fn from(_: reflect_sdk::Error) -> Self {
        return Self;
    }
}

impl Agent {
    /// One line.
    #[reflect_trace(client = self.client)]
    pub(crate) fn line(&self, ctx: &TraceContext, question: &str) -> String {
        return ctx.task().to_owned();
    }

    /// All options.
    #[reflect_trace(
        client = self.client,
        task = format!("{question}?"),
        limit = 3,
        metadata = [("customer", "acme")],
        model = "m",
        strict,
        until_learned,
        on_cancel = "skip",
    )]
    pub(crate) async fn options(
        &self,
        ctx: &TraceContext,
        question: &str,
        (first, _): (u8, u8),
        _unused: u8,
    ) -> Result<TraceResult<u8>, Failed> {
        if question.is_empty() {
            return Err(Failed);
        }
        tokio::task::yield_now().await;
        return Ok(TraceResult::new(first, ctx.task()).pass());
    }

    /// Does not look at its context.
    #[reflect_trace(client = self.client)]
    pub(crate) async fn careless(&self, _ctx: &TraceContext, question: String) -> Option<String> {
        tokio::task::yield_now().await;
        return Some(question);
    }

    /// Borrows.
    #[reflect_trace(client = self.client, task = |question| question.trim())]
    pub(crate) fn borrowed<'a>(&self, _: TraceContext, question: &'a str) -> &'a str {
        return question;
    }

    /// Never ends well.
    #[reflect_trace(client = self.client, inject_context = false)]
    pub(crate) async fn endless(&self, question: &str) -> String {
        loop {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn the_strictest_crate_can_be_traced() -> Result<(), Failed> {
    let client = ReflectClient::disabled();
    let agent = Agent { client };
    assert_eq!(agent.line("a"), "a");
    assert_eq!(agent.options("b", (7, 8), 9).await?, 7);
    assert_eq!(agent.careless("c".to_owned()).await.as_deref(), Some("c"));
    assert_eq!(agent.borrowed("d"), "d");
    drop(agent.endless("e"));
    return Ok(());
}

/// A forbidden lint cannot be allowed again, not even by a macro for its own code.
mod forbidding {
    #![forbid(
        unreachable_code,
        unused_assignments,
        unused_braces,
        unused_must_use,
        unused_mut,
        unused_parens,
        unused_variables,
        missing_docs
    )]

    use std::future::Future;
    use std::pin::Pin;

    use reflect_sdk::{TraceContext, TraceResult, reflect_trace};

    /// At once.
    #[reflect_trace(task = |(first, _)| first)]
    pub(super) fn at_once(ctx: &TraceContext, (first, ref mut rest): (u8, String)) -> String {
        rest.push_str(ctx.task());
        return format!("{rest}{first}");
    }

    /// Later.
    #[reflect_trace]
    pub(super) async fn later(_: TraceContext, question: &str) -> Result<String, String> {
        if question.is_empty() {
            return Err(String::new());
        }
        return Ok(question.to_owned());
    }

    /// Never.
    #[reflect_trace]
    pub(super) async fn never(_: &TraceContext, question: &str) -> String {
        loop {
            tokio::task::yield_now().await;
        }
    }

    /// In a box.
    #[reflect_trace]
    pub(super) fn boxed(
        ctx: TraceContext,
        question: String,
    ) -> Pin<Box<dyn Future<Output = TraceResult> + Send>> {
        return Box::pin(async move { return ctx.task().into() });
    }
}

#[tokio::test]
async fn what_is_forbidden_is_not_allowed_again() {
    assert_eq!(forbidding::at_once((7, "a".to_owned())), "a77");
    assert_eq!(forbidding::later("b").await.as_deref(), Ok("b"));
    drop(forbidding::never("c"));
    assert_eq!(forbidding::boxed("d".to_owned()).await, "d");
}
