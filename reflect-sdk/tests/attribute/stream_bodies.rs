//! Streams of traced functions: folded items, methods, refusals, panics and runs within.

use std::fmt::Display;

use async_trait::async_trait;
use futures_util::stream::{BoxStream, Stream, StreamExt, iter};
use reflect_sdk::{
    Error, Message, ReflectClient, TraceContext, TraceOutput, TraceResult, reflect_trace,
};
use reflect_types::{ErrorCode, Verdict};

use crate::script::Script;
use crate::streams::{all, opaque, said};
use crate::world::{World, review};

/// What a framework yields.
#[derive(Debug)]
struct Chunk {
    delta: Option<String>,
}

fn chunk(delta: &str) -> Chunk {
    let delta = (delta != "-").then(|| delta.to_owned());
    Chunk { delta }
}

type Part = Result<Chunk, String>;

fn append(text: &mut String, chunk: &Chunk) {
    text.push_str(chunk.delta.as_deref().unwrap_or_default());
}

#[reflect_trace(client = client, fold = append)]
fn chunks<'a>(
    _: TraceContext,
    question: &'a str,
    client: &'a ReflectClient,
) -> BoxStream<'a, Chunk> {
    iter(question.split(' ').map(chunk)).boxed()
}

#[reflect_trace(client = client, fold = append)]
async fn parts(
    _: TraceContext,
    question: &str,
    client: &ReflectClient,
) -> Result<impl Stream<Item = Part>, Error> {
    let parts: Vec<Part> = question
        .split(' ')
        .map(|part| {
            if part == "!" {
                Err("lost".to_owned())
            } else {
                Ok(chunk(part))
            }
        })
        .collect();
    Ok(iter(parts))
}

#[tokio::test]
async fn a_fold_gets_the_items_or_the_ok_of_results() {
    let world = World::new();
    assert_eq!(all(chunks("a - b", &world.client)).await.len(), 3);
    let parts = parts("a ! b", &world.client).await.unwrap();
    assert_eq!(all(parts).await.len(), 3);
    assert_eq!(said(&world), ["a - b: ab", "a ! b: ab"]);
    let recorded = world.recorded();
    assert_eq!(review(&recorded[0]), None);
    assert_eq!(review(&recorded[1]), Some((Verdict::Fail, "lost")));
}

struct Agent {
    client: ReflectClient,
    name: String,
}

#[async_trait]
trait Tell: Sync {
    async fn tell(&self, question: &str) -> BoxStream<'_, String>;
}

#[async_trait]
impl Tell for Agent {
    #[reflect_trace(client = self.client)]
    async fn tell(&self, ctx: TraceContext, question: &str) -> BoxStream<'_, String> {
        tokio::task::yield_now().await;
        let said = format!("{} {question}", ctx.task());
        iter([said, self.name.clone()]).boxed()
    }
}

trait Native {
    fn stream(&mut self, question: String) -> impl Stream<Item = String>;
}

impl Native for Agent {
    #[reflect_trace(client = self.client)]
    fn stream(&mut self, ctx: TraceContext, question: String) -> impl Stream<Item = String> {
        self.name.push('!');
        iter([ctx.task().to_owned(), self.name.clone()])
    }
}

impl Agent {
    #[reflect_trace(client = self.client, task = question.to_string(), limit = 2)]
    #[expect(clippy::multiple_bound_locations, reason = "both are kept")]
    fn generic<'a, T: Display + 'a, const N: usize>(
        &'a self,
        ctx: TraceContext,
        question: &'a T,
        (first, rest): (usize, impl Iterator<Item = usize> + 'a),
    ) -> impl Stream<Item = String> + 'a
    where
        T: Clone,
    {
        let name = &self.name;
        let numbers = std::iter::once(first).chain(rest).take(N);
        iter(numbers).map(move |number| format!("{name}{number}{}", ctx.task()))
    }

    #[reflect_trace(client = self.client, strict, limit = limit)]
    fn strictly(
        &self,
        ctx: TraceContext,
        question: &'static str,
        limit: u32,
    ) -> BoxStream<'_, Result<String, Error>> {
        iter([Ok(ctx.task().to_owned())]).boxed()
    }

    #[reflect_trace(client = self.client, strict)]
    async fn strictly_later(
        &self,
        ctx: TraceContext,
        question: &str,
    ) -> Result<impl Stream<Item = String>, Error> {
        Ok(iter([ctx.task().to_owned()]))
    }

    #[reflect_trace(client = self.client, on_cancel = "skip")]
    fn outer(&self, ctx: TraceContext, question: &'static str) -> impl Stream<Item = String> + '_ {
        ctx.record(Message::user(question));
        let name = self.name.clone();
        iter([1]).then(move |_| {
            let client = self.client.clone();
            let name = name.clone();
            async move { inner(name, client).await }
        })
    }

    #[reflect_trace(client = self.client)]
    #[expect(clippy::panic, reason = "this is what the test is about")]
    fn waiting(
        &self,
        ctx: TraceContext,
        question: &'static str,
    ) -> impl Stream<Item = String> + '_ {
        iter([question]).map(move |item| panic!("no {item} in {}", ctx.task()))
    }

    #[reflect_trace(client = self.client)]
    fn failing(&self, _: TraceContext, question: &'static str) -> impl Stream<Item = String> + '_ {
        assert_eq!(question, "nothing", "the tool broke");
        iter([String::new()])
    }
}

#[reflect_trace(client = client)]
async fn inner(ctx: &TraceContext, question: String, client: ReflectClient) -> TraceResult {
    TraceResult::from(ctx.task())
}

fn agent(world: &World) -> Agent {
    Agent {
        client: world.client.clone(),
        name: "Ada".to_owned(),
    }
}

#[tokio::test]
async fn methods_of_traits_and_generic_ones_are_traced() {
    let world = World::new();
    let mut agent = agent(&world);
    let tell: &dyn Tell = &agent;
    assert_eq!(all(tell.tell("a").await).await, ["a a", "Ada"]);
    let given = (1, [2, 3].into_iter());
    assert_eq!(
        all(agent.generic::<_, 2>(&'b', given)).await,
        ["Ada1b", "Ada2b"]
    );
    assert_eq!(all(agent.stream("c".to_owned())).await, ["c", "Ada!"]);
    assert_eq!(said(&world), ["a: a aAda", "b: Ada1bAda2b", "c: cAda!"]);
}

#[tokio::test]
async fn the_error_of_a_strict_function_is_its_only_item() {
    let world = World::new();
    let agent = agent(&world);
    assert_eq!(all(agent.strictly("a", 1)).await.len(), 1);
    *world.script.memories.lock().unwrap() = Err(ErrorCode::Unauthorized);
    let mut refused = agent.strictly("b", 1);
    let error = refused.next().await.unwrap().unwrap_err();
    assert_eq!(error.status(), Some(401));
    assert!(refused.next().await.is_none());
    let error = agent.strictly_later("c").await.map(drop).unwrap_err();
    assert_eq!(error.status(), Some(401));
    assert_eq!(world.tasks(), ["a"]);
}

#[tokio::test]
async fn runs_in_a_stream_find_their_parent() {
    let world = World::new();
    let agent = agent(&world);
    let spawned = opaque("apart".to_owned(), world.client.clone());
    tokio::spawn(async move { drop(all(spawned).await) })
        .await
        .unwrap();
    assert_eq!(all(agent.outer("a")).await, ["Ada"]);
    let recorded = world.recorded();
    let (inner, outer) = (&recorded[1], &recorded[2]);
    assert_eq!(inner.parent_run_id, outer.idempotency_key);
    assert_eq!(outer.trajectory, vec![Message::user("a")].into());
    // It was skipped, as the option says.
    drop(Box::pin(agent.outer("b")).next().await);
    assert_eq!(world.recorded().len(), 4, "the inner run alone");
}

#[tokio::test]
async fn a_panic_in_the_function_or_its_stream_fails_the_run_and_ends_the_stream() {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let world = World::new();
    let agent = agent(&world);
    let mut streams = [
        agent.waiting("a").boxed_local(),
        agent.failing("b").boxed_local(),
    ];
    for stream in &mut streams {
        let polled = AssertUnwindSafe(|| pollster::block_on(stream.next()));
        assert!(catch_unwind(polled).is_err());
        assert_eq!(stream.next().await, None, "it is safe to poll it again");
    }
    let recorded = world.recorded();
    assert_eq!(review(&recorded[0]), Some((Verdict::Fail, "no a in a")));
    let (verdict, feedback) = review(&recorded[1]).unwrap();
    assert_eq!(verdict, Verdict::Fail);
    assert!(feedback.contains("the tool broke"), "{feedback}");
}

macro_rules! stream_fn {
    ($name:ident, $item:ty, $fold:expr) => {
        #[reflect_trace(client = client, fold = $fold)]
        fn $name(
            _: TraceContext,
            question: String,
            client: ReflectClient,
        ) -> impl Stream<Item = $item> + use<> {
            iter([question.len()])
        }
    };
}

stream_fn!(counted, usize, |text, number| *text += &number.to_string());

#[tokio::test]
async fn a_macro_may_write_the_function() {
    let world = World::new();
    assert_eq!(
        all(counted("four".to_owned(), world.client.clone())).await,
        [4]
    );
    assert_eq!(said(&world), ["four: 4"]);
}

#[tokio::test]
async fn the_end_of_a_stream_may_wait_for_its_memory() {
    #[reflect_trace(client = client, until_learned)]
    async fn learning(
        ctx: TraceContext,
        question: &str,
        client: &ReflectClient,
    ) -> Result<BoxStream<'static, String>, String> {
        ctx.set_output(TraceOutput::recorded().pass());
        if question == "-" {
            return Err("nothing was asked".to_owned());
        }
        Ok(iter([ctx.task().to_owned()]).boxed())
    }

    let script = Script::default();
    *script.looks.lock().unwrap() = Some(2);
    let world = World::of(script);
    let looks = || *world.script.looks.lock().unwrap();
    assert_eq!(
        all(learning("a", &world.client).await.unwrap()).await,
        ["a"]
    );
    assert_eq!(looks(), Some(0));
    *world.script.looks.lock().unwrap() = Some(2);
    assert!(learning("-", &world.client).await.is_err());
    assert_eq!(looks(), Some(0), "so does an error instead of one");
}
