//! Arguments that are patterns or conditional.

use reflect_sdk::{ReflectClient, TraceContext, reflect_trace};

use crate::world::World;

/// Implements neither `Display` nor `Serialize`.
struct Opaque;

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
