//! Traits, boxed futures, recursion and `Send`.

use std::cell::{Cell, RefCell};
use std::future::{Future, ready};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use reflect_sdk::{ReflectClient, TraceContext, TraceResult, reflect_trace};

use crate::world::World;

struct Agent {
    client: ReflectClient,
}

#[async_trait]
trait Answer: Sync {
    async fn answer(&self, question: &str) -> String;

    #[reflect_trace(client = self.client())]
    async fn by_default(&self, ctx: &TraceContext, question: &str) -> TraceResult {
        tokio::task::yield_now().await;
        TraceResult::new(format!("default {question}"), ctx.task())
    }

    fn client(&self) -> &ReflectClient;
}

#[async_trait]
impl Answer for Agent {
    #[reflect_trace(client = self.client)]
    async fn answer(&self, ctx: &TraceContext, question: &str) -> TraceResult {
        tokio::task::yield_now().await;
        let text = format!("{} {question}", ctx.task());
        TraceResult::new(text, "said so").pass()
    }

    fn client(&self) -> &ReflectClient {
        &self.client
    }
}

#[async_trait(?Send)]
trait AnswerHere {
    async fn answer(&self, question: &str) -> String;
}

#[async_trait(?Send)]
impl AnswerHere for Agent {
    #[reflect_trace(client = self.client)]
    async fn answer(&self, ctx: TraceContext, question: &str) -> String {
        let here = Rc::new(question.to_owned());
        tokio::task::yield_now().await;
        format!("{} {here}", ctx.task())
    }
}

#[tokio::test]
async fn methods_of_async_trait_are_traced_behind_a_dyn() {
    let world = World::new();
    let agent = Agent {
        client: world.client.clone(),
    };
    let answer: &dyn Answer = &agent;
    assert_eq!(answer.answer("a").await, "a a");
    assert_eq!(answer.by_default("b").await, "default b");
    let here: &dyn AnswerHere = &agent;
    assert_eq!(here.answer("c").await, "c c");
    assert_eq!(world.tasks(), ["a", "b", "c"]);
}

trait Native {
    async fn answer(&self, question: &str) -> String;

    fn sendable(&self, question: String) -> impl Future<Output = String> + Send;

    #[reflect_trace(client = self.client())]
    async fn by_default(&self, ctx: &TraceContext, question: &str) -> String {
        tokio::task::yield_now().await;
        ctx.task().to_owned()
    }

    fn client(&self) -> ReflectClient;
}

impl Native for Agent {
    #[reflect_trace(client = self.client)]
    async fn answer(&self, ctx: &TraceContext, question: &str) -> TraceResult {
        tokio::task::yield_now().await;
        TraceResult::new(ctx.task().to_owned(), "said so")
    }

    #[reflect_trace(client = self.client)]
    async fn sendable(&self, ctx: &TraceContext, question: String) -> String {
        tokio::task::yield_now().await;
        ctx.task().to_owned()
    }

    fn client(&self) -> ReflectClient {
        self.client.clone()
    }
}

#[tokio::test]
async fn native_async_methods_of_traits_are_traced() {
    let world = World::new();
    let agent = Agent {
        client: world.client.clone(),
    };
    assert_eq!(Native::answer(&agent, "a").await, "a");
    assert_eq!(Native::by_default(&agent, "b").await, "b");
    assert_eq!(agent.sendable("c".to_owned()).await, "c");
    assert_eq!(world.tasks(), ["a", "b", "c"]);
}

#[reflect_trace(client = client)]
fn boxed<'a>(
    ctx: TraceContext,
    question: &'a str,
    seen: &'a Cell<u8>,
    client: &'a ReflectClient,
) -> Pin<Box<dyn Future<Output = TraceResult<usize>> + 'a>> {
    seen.set(seen.get() + 1);
    if question == "-" {
        return Box::pin(async { TraceResult::new(0, "nothing was asked") });
    }
    let length = question.len();
    Box::pin(async move { TraceResult::new(length, ctx.task()) })
}

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

#[reflect_trace(client = client, task = question)]
fn named_box<'a>(
    ctx: &TraceContext,
    client: &'a ReflectClient,
    question: &'a str,
) -> BoxFuture<'a, Result<TraceResult, String>> {
    let text = ctx.task().to_owned();
    Box::pin(async move {
        tokio::task::yield_now().await;
        if question == "-" {
            Err("empty".to_owned())
        } else {
            Ok(text.into())
        }
    })
}

#[reflect_trace(client = client, future)]
fn behind_an_alias(ctx: TraceContext, question: String, client: ReflectClient) -> Later<String> {
    Box::pin(async move { ctx.task().to_owned() })
}

/// Names that usually mean something else.
mod renamed {
    use std::future::Future;
    use std::pin::Pin;

    use reflect_sdk::{ReflectClient, TraceContext, TraceResult, reflect_trace};

    type BoxFuture<T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send>>;

    #[reflect_trace(client = client)]
    pub(super) fn fallible(
        ctx: TraceContext,
        question: String,
        client: ReflectClient,
    ) -> BoxFuture<String> {
        Box::pin(async move { Ok(ctx.task().to_owned()) })
    }

    #[reflect_trace(client = client)]
    pub(super) fn fallible_result(
        ctx: TraceContext,
        question: String,
        client: ReflectClient,
    ) -> BoxFuture<TraceResult<u8>> {
        Box::pin(async move { Ok(TraceResult::new(7, ctx.task())) })
    }

    type LocalBoxFuture<T> = Pin<Box<dyn Future<Output = TraceResult<T>>>>;

    #[reflect_trace(client = client, future)]
    pub(super) fn whole(
        ctx: TraceContext,
        question: String,
        client: ReflectClient,
    ) -> LocalBoxFuture<u8> {
        Box::pin(async move { TraceResult::new(7, ctx.task()) })
    }
}

#[tokio::test]
async fn a_name_for_a_boxed_future_may_mean_more() {
    let world = World::new();
    let client = || world.client.clone();
    let text = renamed::fallible("a".to_owned(), client());
    assert_eq!(text.await.unwrap(), "a");
    let number: Result<u8, String> = renamed::fallible_result("b".to_owned(), client()).await;
    assert_eq!(number.unwrap(), 7);
    // The option `future` overrides what the name suggests.
    let result: TraceResult<u8> = renamed::whole("c".to_owned(), client()).await;
    assert_eq!(result.output, 7);
    assert_eq!(world.tasks(), ["a", "b", "c"]);
}

#[reflect_trace(client = client)]
fn at_once(
    ctx: TraceContext,
    question: String,
    client: ReflectClient,
) -> impl Future<Output = String> + Send {
    ready(ctx.augmented_task().to_owned())
}

#[tokio::test]
async fn every_statement_before_a_returned_future_runs() {
    let world = World::new();
    let (client, seen) = (&world.client, Cell::new(0));
    assert_eq!(boxed("four", &seen, client).await, 4);
    assert_eq!(boxed("-", &seen, client).await, 0);
    assert_eq!(seen.get(), 2);
    let recorded = world.recorded();
    assert_eq!(recorded[0].task, "four");
    assert_eq!(recorded[1].trajectory, "nothing was asked".into());
}

#[tokio::test]
async fn functions_that_return_futures_are_traced_until_those_end() {
    let world = World::new();
    let client = &world.client;
    assert_eq!(named_box(client, "a").await.unwrap(), "a");
    assert_eq!(named_box(client, "-").await.unwrap_err(), "empty");
    assert_eq!(behind_an_alias("b".to_owned(), client.clone()).await, "b");
    assert_eq!(at_once("c".to_owned(), client.clone()).await, "c");
    assert_eq!(world.tasks(), ["a", "-", "b", "c"]);
    let never_polled = at_once("d".to_owned(), client.clone());
    drop(never_polled);
    assert_eq!(world.recorded().len(), 4);
}

#[reflect_trace(client = client)]
async fn countdown(ctx: &TraceContext, from: u32, client: ReflectClient) -> String {
    tokio::task::yield_now().await;
    if from == 0 {
        return "0".to_owned();
    }
    let rest = Box::pin(countdown(from - 1, client)).await;
    format!("{} {rest}", ctx.task())
}

#[reflect_trace(client = client, boxed)]
async fn boxed_countdown(ctx: &TraceContext, from: u32, client: ReflectClient) -> String {
    tokio::task::yield_now().await;
    if from == 0 {
        return "0".to_owned();
    }
    let rest = boxed_countdown(from - 1, client).await;
    format!("{} {rest}", ctx.task())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn async_functions_may_call_themselves_on_any_thread() {
    let world = World::new();
    let counted = tokio::spawn(countdown(3, world.client.clone())).await;
    assert_eq!(counted.unwrap(), "3 2 1 0");
    let counted = boxed_countdown(2, world.client.clone()).await;
    assert_eq!(counted, "2 1 0");
    assert_eq!(world.tasks(), ["0", "1", "2", "3", "0", "1", "2"]);
}

/// Tests whether a type is `Send`, by method resolution.
struct Probe<T>(PhantomData<T>);

impl<T> Probe<T> {
    fn of(_: &T) -> Self {
        Self(PhantomData)
    }
}

impl<T: Send> Probe<T> {
    #[expect(clippy::unused_self, reason = "it is found by the type of `self`")]
    fn can_be_sent(&self) -> bool {
        true
    }
}

trait Otherwise {
    fn can_be_sent(&self) -> bool {
        false
    }
}

/// Found only if the method above does not apply.
impl<T> Otherwise for Probe<T> {}

#[reflect_trace(client = client)]
async fn with_a_local_error(
    _: &TraceContext,
    question: String,
    client: ReflectClient,
) -> Result<String, Box<dyn std::error::Error>> {
    tokio::task::yield_now().await;
    Err(question.into())
}

#[reflect_trace(client = client, strict)]
async fn strictly_with_a_local_error(
    _: &TraceContext,
    question: String,
    client: ReflectClient,
) -> Result<String, Box<dyn std::error::Error>> {
    tokio::task::yield_now().await;
    Err(question.into())
}

#[reflect_trace(client = client)]
async fn on_one_thread(ctx: &TraceContext, question: String, client: ReflectClient) -> String {
    let shared = Rc::new(RefCell::new(question));
    tokio::task::yield_now().await;
    let text = shared.borrow().clone();
    text + ctx.task()
}

#[reflect_trace(client = *shared.lock().unwrap())]
async fn with_a_locked_client(
    _: &TraceContext,
    question: String,
    shared: Arc<Mutex<ReflectClient>>,
) -> String {
    assert!(shared.try_lock().is_ok());
    question
}

#[reflect_trace(client = *shared.lock().unwrap(), strict)]
async fn strictly_with_a_locked_client(
    _: &TraceContext,
    question: String,
    shared: Arc<Mutex<ReflectClient>>,
) -> Result<String, reflect_sdk::Error> {
    assert!(shared.try_lock().is_ok());
    Ok(question)
}

#[reflect_trace(client = *shared.lock().unwrap())]
async fn shown_with_a_locked_client(
    ctx: &TraceContext,
    question: String,
    shared: Arc<Mutex<ReflectClient>>,
) -> String {
    assert!(shared.try_lock().is_ok());
    question + ctx.task()
}

#[tokio::test]
async fn a_lock_around_the_client_is_released_before_memories_are_retrieved() {
    let world = World::new();
    let shared = || Arc::new(Mutex::new(world.client.clone()));
    let plain = with_a_locked_client("a".to_owned(), shared());
    let strict = strictly_with_a_locked_client("b".to_owned(), shared());
    let shown = shown_with_a_locked_client("c".to_owned(), shared());
    assert!(Probe::of(&plain).can_be_sent());
    assert!(Probe::of(&strict).can_be_sent());
    assert!(Probe::of(&shown).can_be_sent());
    assert_eq!(plain.await, "a");
    assert_eq!(strict.await.unwrap(), "b");
    assert_eq!(shown.await, "cc");
    assert_eq!(world.tasks(), ["a", "b", "c"]);
}

#[tokio::test]
async fn a_traced_future_can_be_sent_exactly_if_its_body_can() {
    let world = World::new();
    let (question, client) = (|| "q".to_owned(), || world.client.clone());
    assert!(Probe::of(&countdown(1, client())).can_be_sent());
    assert!(Probe::of(&with_a_local_error(question(), client())).can_be_sent());
    assert!(Probe::of(&strictly_with_a_local_error(question(), client())).can_be_sent());
    assert!(!Probe::of(&on_one_thread(question(), client())).can_be_sent());

    let local = tokio::task::LocalSet::new();
    let task = local.spawn_local(on_one_thread(question(), client()));
    local.await;
    assert_eq!(task.await.unwrap(), "qq");
}
