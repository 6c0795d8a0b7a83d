//! Traced functions in a crate that forbids everything. It is enough that this compiles, and that
//! clippy is content.
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
        blocking,
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
