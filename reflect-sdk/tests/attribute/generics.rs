//! Type parameters, lifetimes and returned borrows.

use reflect_sdk::{ReflectClient, TraceContext, TraceResult, reflect_trace};

use crate::world::World;

/// Implements neither `Display` nor `Serialize`.
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
