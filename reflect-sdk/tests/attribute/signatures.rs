//! Receivers, generics, lifetimes, patterns and qualifiers.

use std::pin::Pin;
use std::sync::Arc;

use reflect_sdk::{ReflectClient, TraceContext, TraceResult, reflect_trace};

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
async fn the_context_comes_as_it_was_asked_for() {
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

/// Can neither be shown nor serialized.
struct Opaque;

#[reflect_trace(client = client)]
fn generic<'a, T, F, const N: usize>(
    ctx: &TraceContext,
    question: &'a str,
    items: [T; N],
    pick: F,
    client: &ReflectClient,
) -> TraceResult<&'a str>
where
    T: AsRef<str>,
    F: for<'x> Fn(&'x [T]) -> &'x T,
{
    let picked = pick(&items).as_ref().to_owned();
    TraceResult::new(question, format!("{} {picked} {N}", ctx.task()))
}

#[reflect_trace(client = client)]
fn unsized_behind_a_reference<T: ToString + ?Sized>(
    ctx: &TraceContext,
    question: &str,
    value: &T,
    client: &ReflectClient,
) -> String {
    ctx.task().to_owned() + &value.to_string()
}

#[reflect_trace(client = client)]
async fn impl_argument(
    ctx: &TraceContext,
    question: impl AsRef<str> + std::fmt::Display + Send,
    _opaque: impl Sized + Send,
    client: &ReflectClient,
) -> String {
    tokio::task::yield_now().await;
    ctx.task().to_owned() + question.as_ref()
}

#[tokio::test]
async fn generics_and_bounds_stay_as_they_are() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let world = World::new();
    let client = &world.client;
    assert_eq!(generic("a", ["x", "y"], |items| &items[1], client), "a");
    assert_eq!(unsized_behind_a_reference("b", "text", client), "btext");
    let spawned = impl_argument("c", Opaque, client);
    assert_eq!(is_send(spawned).await, "cc");
    assert_eq!(world.tasks(), ["a", "b", "c"]);
}

struct Store<'s> {
    client: ReflectClient,
    texts: Vec<&'s str>,
    owned: String,
}

impl<'s> Store<'s> {
    #[reflect_trace(client = self.client)]
    fn of_the_impl(&self, ctx: &TraceContext, key: usize) -> &'s str {
        let _ = ctx.task();
        self.texts[key]
    }

    #[reflect_trace(client = self.client)]
    fn elided(&mut self, ctx: &TraceContext, text: String) -> &str {
        self.owned = text + ctx.task();
        &self.owned
    }

    #[reflect_trace(client = self.client)]
    async fn elided_later(&mut self, ctx: &TraceContext, text: String) -> &str {
        tokio::task::yield_now().await;
        self.owned = text + ctx.task();
        &self.owned
    }
}

#[reflect_trace(client = client)]
fn of_an_argument<'a>(
    ctx: &TraceContext,
    longer: &'a mut String,
    client: &ReflectClient,
) -> Result<&'a str, String> {
    longer.push_str(ctx.task());
    if longer.len() > 100 {
        return Err("too long".to_owned());
    }
    Ok(longer)
}

#[tokio::test]
async fn borrows_of_arguments_and_receivers_can_be_returned() {
    let world = World::new();
    let mut store = Store {
        client: world.client.clone(),
        texts: vec!["zero", "one"],
        owned: String::new(),
    };
    let kept = store.of_the_impl(1);
    assert_eq!(store.elided("a".to_owned()), "aa");
    assert_eq!(store.elided_later("b".to_owned()).await, "bb");
    assert_eq!(kept, "one");
    let mut text = "c".to_owned();
    assert_eq!(of_an_argument(&mut text, &world.client).unwrap(), "cc");
    assert_eq!(world.tasks(), ["1", "a", "b", "c"]);
}

struct Question {
    text: String,
    urgent: bool,
}

impl std::fmt::Display for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[reflect_trace(client = client)]
fn patterns(
    ctx: &TraceContext,
    Question { text, urgent }: Question,
    (a, (b, _)): (u8, (u8, u8)),
    _: Opaque,
    mut rest: Vec<u8>,
    all @ [first, second]: [u8; 2],
    client: &ReflectClient,
) -> String {
    rest.push(a + b);
    format!(
        "{} {text} {urgent} {rest:?} {all:?} {first} {second}",
        ctx.task()
    )
}

#[reflect_trace(client = client, task = text)]
async fn patterns_later(
    ctx: &TraceContext,
    client: &ReflectClient,
    Question { text, .. }: Question,
    ref borrowed: String,
    mut counted: u8,
) -> String {
    tokio::task::yield_now().await;
    counted += 1;
    format!("{} {borrowed} {counted}", ctx.task())
}

#[tokio::test]
async fn arguments_may_be_taken_apart() {
    let world = World::new();
    let question = |text: &str| Question {
        text: text.to_owned(),
        urgent: true,
    };
    let client = &world.client;
    let taken = patterns(question("a"), (1, (2, 3)), Opaque, vec![0], [4, 5], client);
    assert_eq!(taken, "a a true [0, 3] [4, 5] 4 5");
    let later = patterns_later(client, question("b"), "x".to_owned(), 1).await;
    assert_eq!(later, "b x 2");
    assert_eq!(world.tasks(), ["a", "b"]);
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

/// The options see the arguments, not what the expansion calls its own.
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

#[reflect_trace(client = client, task = question)]
fn conditional(
    ctx: &TraceContext,
    #[cfg(any())] absent: Missing,
    #[cfg(not(any()))] question: &str,
    #[allow(unused_variables)] ignored: u8,
    client: &ReflectClient,
) -> String {
    format!("{} {question}", ctx.task())
}

#[test]
fn conditional_parameters_are_left_to_the_compiler() {
    let world = World::new();
    assert_eq!(conditional("a", 7, &world.client), "a a");
    assert_eq!(world.tasks(), ["a"]);
}

/// Names that could be taken for those of the expansion, as items, which no variable can shadow.
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
