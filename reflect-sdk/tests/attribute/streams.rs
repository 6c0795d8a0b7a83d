//! Functions that return a stream.

use std::future::{Future, ready};
use std::pin::Pin;
use std::rc::Rc;

use futures_util::stream::{BoxStream, LocalBoxStream, Stream, StreamExt, iter, once};
use reflect_sdk::{Error, ReflectClient, TraceContext, TraceOutput, reflect_trace};
use reflect_types::{CreateTrace, Verdict};

use crate::script::Script;
use crate::world::{World, review};

pub(crate) async fn all<S: Stream>(stream: S) -> Vec<S::Item> {
    stream.collect().await
}

/// The tasks and the answers of all traces so far.
pub(crate) fn said(world: &World) -> Vec<String> {
    let answer = |trace: &CreateTrace| trace.final_response.clone().unwrap_or_default();
    let told = |trace: &CreateTrace| format!("{}: {}", trace.task, answer(trace));
    world.recorded().iter().map(told).collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_owned).collect()
}

#[reflect_trace(client = client)]
pub(crate) fn opaque(
    ctx: TraceContext,
    question: String,
    client: ReflectClient,
) -> impl Stream<Item = String> + Send + use<> {
    iter(words(ctx.augmented_task()))
}

#[reflect_trace(client = client)]
fn borrowing<'a>(
    ctx: TraceContext,
    question: &'a str,
    client: &'a ReflectClient,
) -> impl Stream<Item = &'a str> + 'a {
    assert_eq!(ctx.task(), question);
    iter(question.split_inclusive(' '))
}

#[reflect_trace(client = client)]
fn boxed<'a>(
    ctx: TraceContext,
    question: &'a str,
    client: &'a ReflectClient,
) -> BoxStream<'a, Result<&'a str, String>> {
    if question == "-" {
        return once(ready(Err("nothing was asked".to_owned()))).boxed();
    }
    ctx.set_output(TraceOutput::recorded().pass());
    iter(question.split_inclusive(' ').map(Ok)).boxed()
}

#[reflect_trace(client = client, inject_context = false)]
fn on_one_thread<'a>(question: &'a str, client: &'a ReflectClient) -> LocalBoxStream<'a, Rc<str>> {
    let context = TraceContext::current().unwrap();
    iter([Rc::from(question), Rc::from(context.task())]).boxed_local()
}

#[reflect_trace(client = client)]
fn spelled(
    ctx: TraceContext,
    question: String,
    client: ReflectClient,
) -> Pin<Box<dyn Stream<Item = Result<String, Error>> + Send>> {
    Box::pin(iter([Ok(ctx.task().to_owned())]))
}

#[reflect_trace(client = client)]
fn movable(
    ctx: TraceContext,
    question: String,
    client: ReflectClient,
) -> impl Stream<Item = String> + Send + Unpin + use<> {
    iter([ctx.task().to_owned()])
}

#[reflect_trace(client = client)]
async fn later(
    ctx: TraceContext,
    question: &str,
    client: &ReflectClient,
) -> impl Stream<Item = String> {
    tokio::task::yield_now().await;
    iter([ctx.task().to_owned(), question.to_uppercase()])
}

#[reflect_trace(client = client)]
async fn perhaps(
    ctx: TraceContext,
    question: &str,
    client: &ReflectClient,
) -> Result<impl Stream<Item = Result<String, String>> + use<>, std::num::ParseIntError> {
    let number: usize = question.parse()?;
    tokio::task::yield_now().await;
    Ok(iter(vec![Ok(ctx.task().to_owned()); number]))
}

#[reflect_trace(client = client, boxed)]
async fn perhaps_boxed<'a>(
    _: TraceContext,
    question: &'a str,
    client: &ReflectClient,
) -> Result<BoxStream<'a, &'a str>, String> {
    if question == "-" {
        return Err("nothing was asked".to_owned());
    }
    Ok(iter([question]).boxed())
}

#[reflect_trace(client = client, until_learned = false)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a stream may outlive what it borrows"
)]
fn at_once(
    ctx: TraceContext,
    question: String,
    client: ReflectClient,
) -> Result<BoxStream<'static, String>, String> {
    if question == "-" {
        return Err("nothing was asked".to_owned());
    }
    Ok(iter([ctx.task().to_owned()]).boxed())
}

#[reflect_trace(client = client)]
#[expect(
    clippy::needless_pass_by_value,
    reason = "a stream may outlive what it borrows"
)]
fn opaque_at_once(
    ctx: TraceContext,
    question: String,
    client: ReflectClient,
) -> Result<impl Stream<Item = String> + use<>, String> {
    Ok(iter([ctx.task().to_owned()]))
}

#[reflect_trace(client = client)]
fn of_a_future<'a>(
    ctx: TraceContext,
    question: &'a str,
    client: &'a ReflectClient,
) -> Pin<Box<dyn Future<Output = Result<BoxStream<'a, String>, String>> + Send + 'a>> {
    Box::pin(async move {
        let text = ctx.task().to_owned() + question;
        Ok(iter([text]).boxed())
    })
}

#[tokio::test]
async fn a_run_ends_with_the_stream_that_its_function_returns() {
    let world = World::new();
    let (client, question) = (&world.client, || "a b".to_owned());
    assert_eq!(all(opaque(question(), client.clone())).await, ["a ", "b"]);
    assert_eq!(all(borrowing("a b", client)).await, ["a ", "b"]);
    assert_eq!(all(boxed("a b", client)).await, [Ok("a "), Ok("b")]);
    let rcs = all(on_one_thread("a b", client)).await;
    assert_eq!(
        rcs.iter().map(|text| &**text).collect::<Vec<_>>(),
        ["a b", "a b"]
    );
    assert_eq!(all(spelled(question(), client.clone())).await.len(), 1);
    assert_eq!(
        movable(question(), client.clone()).next().await.unwrap(),
        "a b"
    );
    assert_eq!(all(later("a b", client).await).await, ["a b", "A B"]);
    assert_eq!(all(perhaps("2", client).await.unwrap()).await.len(), 2);
    assert_eq!(
        all(perhaps_boxed("a b", client).await.unwrap()).await,
        ["a b"]
    );
    assert_eq!(
        all(at_once(question(), client.clone()).unwrap()).await,
        ["a b"]
    );
    let opaque = opaque_at_once(question(), client.clone()).unwrap();
    assert_eq!(all(opaque).await, ["a b"]);
    assert_eq!(
        all(of_a_future("a b", client).await.unwrap()).await,
        ["a ba b"]
    );
    assert_eq!(
        said(&world),
        [
            "a b: a b",
            "a b: a b",
            "a b: a b",
            "a b: a ba b",
            "a b: a b",
            "a b: a b",
            "a b: a bA B",
            "2: 22",
            "a b: a b",
            "a b: a b",
            "a b: a b",
            "a b: a ba b",
        ]
    );
    let recorded = world.recorded();
    let reviews: Vec<_> = recorded.iter().filter_map(review).collect();
    assert_eq!(reviews, [(Verdict::Pass, "")], "of the one that says so");
    let cancelled = recorded
        .iter()
        .filter(|trace| trace.metadata.contains_key("outcome"));
    assert_eq!(cancelled.count(), 1, "the one that was not read to its end");
}

#[tokio::test]
async fn an_error_instead_of_a_stream_or_in_it_fails_the_run() {
    let world = World::new();
    let client = &world.client;
    assert!(perhaps("two", client).await.is_err());
    assert!(perhaps_boxed("-", client).await.is_err());
    assert!(at_once("-".to_owned(), client.clone()).is_err());
    assert_eq!(
        all(boxed("-", client)).await,
        [Err("nothing was asked".to_owned())]
    );
    let recorded = world.recorded();
    let reviews: Vec<_> = recorded
        .iter()
        .map(|trace| review(trace).unwrap())
        .collect();
    let nothing = (Verdict::Fail, "nothing was asked");
    let number = (Verdict::Fail, "invalid digit found in string");
    assert_eq!(reviews, [number, nothing, nothing, nothing]);
}

#[tokio::test]
async fn memories_are_retrieved_when_the_stream_is_first_polled() {
    let world = World::of(Script::with_memory("m1"));
    let queries = || world.script.queries.lock().unwrap().len();
    let stream = opaque("a".to_owned(), world.client.clone());
    assert_eq!((queries(), stream.size_hint()), (0, (0, None)));
    assert!(all(stream).await.concat().contains("ask first"));
    assert_eq!(queries(), 1);
    drop(opaque("never polled".to_owned(), world.client.clone()));
    let stream = later("b", &world.client).await;
    assert_eq!(queries(), 2, "of an async function, before its body");
    drop(stream);
    let recorded = world.recorded();
    assert_eq!(recorded.len(), 2, "what was never polled did not begin");
    assert_eq!(recorded[0].retrieved_memory_ids, ["m1"]);
    assert_eq!(recorded[1].metadata["outcome"], "cancelled");
}

/// Names that usually mean something else, and others that mean a stream.
mod renamed {
    use std::pin::Pin;

    use futures_util::stream::{Stream, iter};
    use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

    type BoxStream<T> = Pin<Box<dyn Stream<Item = Result<T, String>> + Send>>;

    #[reflect_trace(client = client)]
    pub(super) fn fallible(
        ctx: TraceContext,
        question: String,
        client: ReflectClient,
    ) -> BoxStream<String> {
        Box::pin(iter([Ok(ctx.task().to_owned())]))
    }

    pub(super) type Tokens = Pin<Box<dyn Stream<Item = String> + Send>>;

    #[reflect_trace(client = client, stream)]
    pub(super) fn tokens(ctx: TraceContext, question: String, client: ReflectClient) -> Tokens {
        Box::pin(iter([ctx.task().to_owned()]))
    }

    #[reflect_trace(client = client, stream)]
    pub(super) async fn tokens_later(
        ctx: TraceContext,
        question: String,
        client: ReflectClient,
    ) -> Result<Tokens, String> {
        Ok(Box::pin(iter([ctx.task().to_owned()])))
    }

    type LocalBoxStream = Pin<Box<dyn Stream<Item = u8>>>;

    #[reflect_trace(client = client, stream, fold = |text, byte| text.push(char::from(*byte)))]
    pub(super) fn bytes(
        ctx: TraceContext,
        question: String,
        client: ReflectClient,
    ) -> LocalBoxStream {
        Box::pin(iter(ctx.task().as_bytes().to_vec()))
    }
}

#[tokio::test]
async fn an_alias_of_a_boxed_stream_is_known_by_its_name_or_the_option() {
    let world = World::new();
    let client = || world.client.clone();
    assert_eq!(
        all(renamed::fallible("a".to_owned(), client())).await.len(),
        1
    );
    assert_eq!(all(renamed::tokens("b".to_owned(), client())).await, ["b"]);
    let tokens = renamed::tokens_later("c".to_owned(), client()).await;
    assert_eq!(all(tokens.unwrap()).await, ["c"]);
    assert_eq!(all(renamed::bytes("d".to_owned(), client())).await, [b'd']);
    assert_eq!(said(&world), ["a: a", "b: b", "c: c", "d: d"]);
}
