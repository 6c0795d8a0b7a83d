//! The options of the attribute.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use reflect_sdk::{
    BlockingClient, Error, ErrorCode, Message, ReflectClient, TraceContext, TraceResult,
    reflect_trace,
};
use reflect_types::Verdict;
use serde_json::{Value, json};

use crate::script::Script;
use crate::world::{World, review};

const POLICY: &str = "Refund within 30 days";

struct Agent {
    client: ReflectClient,
    model: String,
    tags: BTreeMap<String, u8>,
}

impl Agent {
    #[reflect_trace(
        client = self.client,
        task = format!("Refund order {order}"),
        limit = 7,
        lambda = 0.25,
        mmr_lambda = 0.75,
        similarity_threshold = 0.125,
        metadata_filter = [("customer", customer)],
        metadata = self.tags,
        model = self.model,
        reference_context = POLICY,
        alpha = 0.5,
    )]
    async fn refund(&mut self, ctx: &TraceContext, order: u32, customer: &str) -> TraceResult {
        self.model.clear();
        TraceResult::new(ctx.task().to_owned(), "done").pass()
    }
}

struct Undecided {
    client: ReflectClient,
    model: Option<String>,
}

impl Undecided {
    #[reflect_trace(
        client = self.client,
        model = &self.model,
        reference_context = policy,
        metadata = [("customer", &customer)],
    )]
    fn answer(
        &self,
        ctx: &TraceContext,
        question: &str,
        policy: Option<&'static str>,
        customer: String,
    ) -> String {
        customer + ctx.task()
    }
}

#[test]
fn a_missing_text_is_left_out() {
    let world = World::new();
    let mut agent = Undecided {
        client: world.client.clone(),
        model: Some("m".to_owned()),
    };
    assert_eq!(agent.answer("a", None, "acme".to_owned()), "acmea");
    agent.model = None;
    assert_eq!(agent.answer("b", Some(POLICY), "acme".to_owned()), "acmeb");
    let recorded = world.recorded();
    let said = recorded.iter().map(|trace| {
        let policy = trace.reference_context.as_deref();
        (trace.model.as_deref(), policy)
    });
    let said: Vec<_> = said.collect();
    assert_eq!(said, [(Some("m"), None), (None, Some(POLICY))]);
    assert_eq!(recorded[0].metadata["customer"], "acme");
}

#[tokio::test]
async fn every_option_reaches_the_query_or_the_trace() {
    let world = World::new();
    let mut agent = Agent {
        client: world.client.clone(),
        model: "m".to_owned(),
        tags: BTreeMap::from([("tier".to_owned(), 3)]),
    };
    assert_eq!(agent.refund(7, "acme").await, "Refund order 7");
    let query = world.script.queries.lock().unwrap()[0].clone();
    assert_eq!(query.task, "Refund order 7");
    assert_eq!(query.limit, 7);
    assert_eq!((query.lambda, query.mmr_lambda), (0.25, 0.75));
    assert_eq!(query.similarity_threshold, Some(0.125));
    assert_eq!(
        Value::from(query.metadata_filter.unwrap()),
        json!({"customer": "acme"})
    );
    let trace = world.only();
    assert_eq!(trace.task, "Refund order 7");
    assert_eq!(trace.model.as_deref(), Some("m"));
    assert_eq!(trace.reference_context.as_deref(), Some(POLICY));
    assert_eq!(Value::from(trace.metadata), json!({"tier": 3}));
    assert_eq!(trace.review.unwrap().alpha, Some(0.5));
}

#[reflect_trace(client = client)]
fn by_default(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

#[test]
fn what_is_not_said_is_as_on_the_wire() {
    let world = World::new();
    by_default("a", &world.client);
    let query = world.script.queries.lock().unwrap()[0].clone();
    assert_eq!(query, reflect_types::QueryMemories::new("a"));
}

struct Order {
    id: u32,
}

#[reflect_trace(client = client, task = "Tidy up")]
fn literal(ctx: &TraceContext, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(client = client, task = order.id)]
fn field(ctx: &TraceContext, order: &Order, client: &ReflectClient) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(client = client, task = |order: &Order, reason| format!("{} {}", order.id, reason.trim()))]
fn closure(
    ctx: &TraceContext,
    Order { id }: Order,
    reason: &str,
    client: &ReflectClient,
) -> String {
    format!("{} {id}", ctx.task())
}

#[reflect_trace(client = client, task = |question: &str| { if question.len() > 3 { return &question[..3]; } question })]
async fn closure_that_borrows(
    ctx: &TraceContext,
    question: String,
    client: &ReflectClient,
) -> String {
    ctx.task().to_owned() + &question
}

#[tokio::test]
async fn the_task_is_any_expression_over_the_arguments() {
    let world = World::new();
    let client = &world.client;
    assert_eq!(literal(client), "Tidy up");
    assert_eq!(field(&Order { id: 7 }, client), "7");
    assert_eq!(closure(Order { id: 8 }, " late ", client), "8 late 8");
    assert_eq!(
        closure_that_borrows("abcd".to_owned(), client).await,
        "abcabcd"
    );
    assert_eq!(world.tasks(), ["Tidy up", "7", "8 late", "abc"]);
}

static LAZY: LazyLock<ReflectClient> = LazyLock::new(ReflectClient::disabled);
static ONCE: OnceLock<ReflectClient> = OnceLock::new();

#[reflect_trace(client = client)]
fn shared(ctx: &TraceContext, t: &str, client: &Arc<ReflectClient>) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(client = client)]
fn optional(ctx: &TraceContext, t: &str, client: Option<&BlockingClient>) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(client = LAZY)]
fn lazy(ctx: &TraceContext, t: &str) -> String {
    ctx.task().to_owned()
}

#[reflect_trace(client = ONCE)]
fn once(ctx: &TraceContext, t: &str) -> String {
    ctx.task().to_owned()
}

#[reflect_trace]
fn unsaid(ctx: &TraceContext, t: &str) -> String {
    ctx.task().to_owned()
}

#[reflect_trace]
async fn unsaid_later(ctx: &TraceContext, t: &str) -> String {
    tokio::task::yield_now().await;
    ctx.task().to_owned()
}

#[test]
fn a_client_comes_in_many_forms() {
    let world = World::new();
    assert_eq!(shared("a", &Arc::new(world.client.clone())), "a");
    assert_eq!(optional("b", Some(&world.client.blocking())), "b");
    assert_eq!(optional("c", None), "c");
    assert_eq!(lazy("d"), "d");
    assert_eq!(once("e"), "e");
    assert_eq!(world.tasks(), ["a", "b"]);
}

#[tokio::test]
async fn without_one_the_client_in_scope_is_used_then_the_installed_one() {
    let (scoped, inner, installed) = (World::new(), World::new(), World::new());
    assert_eq!(unsaid("untraced"), "untraced");
    let _flush = installed.client.install();
    assert_eq!(unsaid("a"), "a");
    scoped.client.in_scope(|| {
        assert_eq!(unsaid("b"), "b");
        inner.client.in_scope(|| unsaid("c"));
        unsaid("d");
    });
    assert_eq!(scoped.client.scope(unsaid_later("e")).await, "e");
    assert_eq!(scoped.tasks(), ["b", "d", "e"]);
    assert_eq!(inner.tasks(), ["c"]);
    // Other tests may have used it too.
    assert!(installed.tasks().contains(&"a".to_owned()));
}

#[reflect_trace(client = client, auto_fail = false)]
fn unjudged(ctx: &TraceContext, t: &str, client: &ReflectClient) -> Result<String, String> {
    Err(ctx.task().to_owned())
}

#[test]
fn an_error_need_not_fail_the_run() {
    let world = World::new();
    assert_eq!(unjudged("a", &world.client).unwrap_err(), "a");
    let [trace] = &world.recorded()[..] else {
        panic!("one run")
    };
    assert_eq!(trace.review, None);
    let metadata = json!({"outcome": "error", "error": "a"});
    assert_eq!(trace.metadata, *metadata.as_object().unwrap());
}

#[reflect_trace(client = client, inject_context = false)]
fn without_the_parameter(question: &str, client: &ReflectClient) -> String {
    helper(question)
}

#[reflect_trace(client = client, inject_context = false)]
async fn without_the_parameter_later(question: &str, client: &ReflectClient) -> String {
    tokio::task::yield_now().await;
    helper(question)
}

fn helper(text: &str) -> String {
    let ctx = TraceContext::current().unwrap();
    ctx.record(Message::user("step"));
    format!("{text} {}", ctx.augmented_task())
}

#[tokio::test]
async fn the_context_can_be_had_without_the_parameter() {
    let world = World::of(Script::with_memory("m"));
    assert!(without_the_parameter("a", &world.client).contains("ask first"));
    assert!(
        without_the_parameter_later("b", &world.client)
            .await
            .contains("ask first")
    );
    let disabled = ReflectClient::disabled();
    assert_eq!(without_the_parameter("c", &disabled), "c c");
    assert_eq!(world.tasks(), ["a", "b"]);
}

#[derive(Debug)]
enum AgentError {
    Reflect(Error),
    Own,
}

impl std::fmt::Display for AgentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reflect(error) => error.fmt(f),
            Self::Own => f.write_str("own"),
        }
    }
}

impl From<Error> for AgentError {
    fn from(error: Error) -> Self {
        Self::Reflect(error)
    }
}

#[reflect_trace(client = client, strict)]
fn strictly(ctx: &TraceContext, t: &str, client: &ReflectClient) -> Result<String, AgentError> {
    if t == "own" {
        Err(AgentError::Own)
    } else {
        Ok(ctx.task().to_owned())
    }
}

#[reflect_trace(client = client, strict = true)]
async fn strictly_later(
    ctx: &TraceContext,
    t: &str,
    client: &ReflectClient,
) -> Result<TraceResult<usize>, AgentError> {
    Ok(TraceResult::new(t.len(), ctx.task()))
}

#[tokio::test]
async fn a_strict_function_returns_the_error_of_its_memories() {
    let world = World::new();
    let client = &world.client;
    assert_eq!(strictly("a", client).unwrap(), "a");
    assert!(matches!(strictly("own", client), Err(AgentError::Own)));
    assert_eq!(strictly_later("b", client).await.unwrap(), 1);
    *world.script.memories.lock().unwrap() = Err(ErrorCode::Forbidden);
    let refused = strictly("c", client).unwrap_err();
    assert!(
        matches!(refused, AgentError::Reflect(Error::Api(_))),
        "{refused:?}"
    );
    let refused = strictly_later("d", client).await.unwrap_err();
    assert!(
        matches!(refused, AgentError::Reflect(Error::Api(_))),
        "{refused:?}"
    );
    let recorded = world.recorded();
    let tasks: Vec<_> = recorded.iter().map(|trace| trace.task.as_str()).collect();
    assert_eq!(
        tasks,
        ["a", "own", "b"],
        "what did not begin is not recorded"
    );
    assert_eq!(review(&recorded[1]), Some((Verdict::Fail, "own")));
}

#[reflect_trace(client = client)]
fn tolerant(ctx: &TraceContext, t: &str, client: &ReflectClient) -> String {
    assert!(ctx.memories().is_empty());
    ctx.retrieval_error()
        .map(ToString::to_string)
        .unwrap_or_default()
}

#[test]
fn without_memories_the_body_runs_and_knows_why() {
    let world = World::new();
    *world.script.memories.lock().unwrap() = Err(ErrorCode::Forbidden);
    assert!(tolerant("a", &world.client).contains("no"));
    assert_eq!(world.tasks(), ["a"]);
}

#[reflect_trace(client = client, blocking)]
async fn waits(ctx: &TraceContext, t: &str, client: &ReflectClient) -> TraceResult {
    TraceResult::from(ctx.task()).pass()
}

#[reflect_trace(client = client, until_learned = Duration::from_millis(10))]
async fn waits_a_moment(ctx: &TraceContext, t: &str, client: &ReflectClient) -> TraceResult {
    TraceResult::from(ctx.task()).pass()
}

#[reflect_trace(client = client, until_learned = true)]
fn waits_at_once(ctx: &TraceContext, t: &str, client: &ReflectClient) -> TraceResult {
    TraceResult::from(ctx.task()).pass()
}

#[tokio::test]
async fn a_blocking_function_returns_when_its_memory_exists() {
    let world = World::new();
    *world.script.looks.lock().unwrap() = Some(1);
    assert_eq!(waits("a", &world.client).await, "a");
    assert_eq!(
        *world.script.looks.lock().unwrap(),
        Some(0),
        "it was waited for"
    );
    *world.script.looks.lock().unwrap() = Some(1);
    assert_eq!(waits_at_once("b", &world.client), "b");
    assert_eq!(*world.script.looks.lock().unwrap(), Some(0));
}

#[tokio::test]
async fn a_blocking_function_gives_its_value_when_the_time_is_up() {
    let world = World::of(Script::shut());
    assert_eq!(waits_a_moment("a", &world.client).await, "a");
    world.script.open();
    assert_eq!(world.tasks(), ["a"], "it is sent all the same");
}
