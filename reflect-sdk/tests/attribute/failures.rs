//! What is recorded of an error, whatever its type.

use std::error::Error as StdError;
use std::fmt::{self, Display};
use std::io;

use anyhow::Context as _;
use reflect_sdk::{BoxError, Message, ReflectClient, TraceContext, reflect_trace};
use reflect_types::{CreateTrace, Verdict};
use serde_json::json;

use crate::world::{World, review};

/// An error that does not say what caused it.
#[derive(Debug)]
struct Failed(BoxError);

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no refund")
    }
}

impl StdError for Failed {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

fn cause(how: &str) -> BoxError {
    match how {
        "late" => io::Error::from(io::ErrorKind::TimedOut).into(),
        text => text.into(),
    }
}

type Alias<T> = Result<T, Failed>;

#[reflect_trace(client = client)]
fn with_a_source(ctx: &TraceContext, how: &str, client: &ReflectClient) -> Alias<String> {
    ctx.record(Message::assistant("I look up the order"));
    Err(Failed(cause(how)))
}

#[reflect_trace(client = client)]
async fn with_context(
    _: &TraceContext,
    how: &str,
    client: &ReflectClient,
) -> anyhow::Result<String> {
    let failed: Result<String, _> = Err(cause(how));
    failed
        .map_err(anyhow::Error::from_boxed)
        .context("no refund")
}

#[reflect_trace(client = client)]
async fn boxed(_: &TraceContext, how: &str, client: &ReflectClient) -> Result<String, BoxError> {
    Err(Failed(cause(how)).into())
}

#[reflect_trace(client = client)]
fn a_text<'a>(_: &TraceContext, how: &'a str, client: &ReflectClient) -> Result<String, &'a str> {
    Err(how)
}

#[reflect_trace(client = client)]
fn generic<E: Display>(_: &TraceContext, how: E, client: &ReflectClient) -> Result<String, E> {
    Err(how)
}

#[reflect_trace(client = client)]
fn hidden(
    _: &TraceContext,
    how: &str,
    client: &ReflectClient,
) -> Result<impl reflect_sdk::TraceReturn<Output = String>, Failed> {
    let failed: Result<String, Failed> = Err(Failed(cause(how)));
    failed
}

/// The error of each function; the first three know the cause.
async fn record(world: &World, how: &str) -> Vec<CreateTrace> {
    let client = &world.client;
    assert!(with_a_source(how, client).is_err());
    assert!(with_context(how, client).await.is_err());
    assert!(boxed(how, client).await.is_err());
    assert!(a_text(how, client).is_err());
    assert!(generic(how.to_owned(), client).is_err());
    assert!(hidden(how, client).is_err());
    world.recorded()
}

#[tokio::test]
async fn an_error_is_recorded_with_its_causes() {
    let traces = record(&World::new(), "the order is too old").await;
    let texts: Vec<_> = traces
        .iter()
        .map(|trace| review(trace).unwrap().1)
        .collect();
    let whole = "no refund: the order is too old";
    let text = "the order is too old";
    assert_eq!(texts, [whole, whole, whole, text, text, "no refund"]);
    let kinds: Vec<_> = traces
        .iter()
        .map(|trace| {
            trace
                .metadata
                .get("error_type")
                .cloned()
                .unwrap_or_default()
        })
        .collect();
    let failed = json!("attribute::failures::Failed");
    let none = json!(null);
    assert_eq!(
        kinds,
        [
            failed.clone(),
            json!("anyhow::Error"),
            none.clone(),
            none.clone(),
            none,
            failed
        ]
    );
    for trace in &traces {
        assert_eq!(trace.metadata["outcome"], "error");
    }
}

#[tokio::test]
async fn a_transient_cause_fails_no_run() {
    let traces = record(&World::new(), "late").await;
    for trace in &traces[..3] {
        assert_eq!(review(trace), None);
        assert_eq!(trace.metadata["error"], "no refund: timed out");
        assert_eq!(trace.metadata["outcome"], "error");
    }
    let step = Message::assistant("I look up the order");
    assert_eq!(traces[0].trajectory, vec![step].into());
    assert_eq!(review(&traces[3]), Some((Verdict::Fail, "late")));
}

#[reflect_trace(client = client, auto_fail = Failed::is_wrong)]
fn ruled(_: &TraceContext, how: &str, client: &ReflectClient) -> Result<String, Failed> {
    Err(Failed(cause(how)))
}

impl Failed {
    fn is_wrong(&self) -> bool {
        self.0.to_string() == "wrong"
    }
}

// The type of the error follows from that of the function.
#[reflect_trace(client = client, auto_fail = |error| error.len() > 4, strict)]
async fn ruled_later(_: &TraceContext, how: &str, client: &ReflectClient) -> Result<String, Text> {
    Err(Text(how.to_owned()))
}

#[derive(Debug)]
struct Text(String);

impl Text {
    fn len(&self) -> usize {
        self.0.len()
    }
}

impl Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<reflect_sdk::Error> for Text {
    fn from(error: reflect_sdk::Error) -> Self {
        Self(error.to_string())
    }
}

#[tokio::test]
async fn a_closure_says_which_errors_fail_the_run() {
    let world = World::new();
    for how in ["wrong", "late"] {
        assert!(ruled(how, &world.client).is_err());
        assert!(ruled_later(how, &world.client).await.is_err());
    }
    let traces = world.recorded();
    let reviews: Vec<_> = traces.iter().map(review).collect();
    let failed = |text| Some((Verdict::Fail, text));
    assert_eq!(
        reviews,
        [failed("no refund: wrong"), failed("wrong"), None, None]
    );
    assert_eq!(traces[2].metadata["error"], "no refund: timed out");
    assert_eq!(traces[3].metadata["error"], "late");
}
