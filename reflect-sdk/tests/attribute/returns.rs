//! Return types, and what callers get.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use reflect_sdk::{Message, ReflectClient, TraceContext, TraceResult, TraceReturn, reflect_trace};
use reflect_types::Verdict;
use serde_json::json;

use crate::world::{World, review};

#[reflect_trace(client = client)]
fn text(ctx: &TraceContext, question: &str, client: &ReflectClient) -> String {
    ctx.task().to_uppercase()
}

#[reflect_trace(client = client)]
fn borrowed<'a>(_: &TraceContext, question: &'a str, client: &ReflectClient) -> Cow<'a, str> {
    question.into()
}

#[reflect_trace(client = client)]
fn shared(_: &TraceContext, question: &str, client: &ReflectClient) -> Option<Arc<str>> {
    (question != "-").then(|| question.into())
}

#[test]
fn a_text_is_what_was_done_and_what_came_of_it() {
    let world = World::new();
    assert_eq!(text("a", &world.client), "A");
    assert_eq!(borrowed("b", &world.client), "b");
    assert_eq!(shared("c", &world.client).as_deref(), Some("c"));
    assert_eq!(
        shared("-", &world.client),
        None,
        "of which nothing is recorded"
    );
    let recorded = world.recorded();
    assert_eq!(recorded.len(), 3);
    assert_eq!(recorded[0].trajectory, "A".into());
    assert_eq!(recorded[0].final_response.as_deref(), Some("A"));
    assert!(recorded[0].review.is_none(), "its review is left for later");
}

#[derive(Debug, PartialEq)]
struct Parsed(u32);

#[reflect_trace(client = client)]
async fn everything(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> TraceResult<Parsed> {
    let messages = vec![Message::user(ctx.augmented_task()), Message::assistant("7")];
    TraceResult::new(Parsed(7), messages)
        .fail("it was 8")
        .model("m")
        .metadata("customer", "acme")
        .task("Count the apples")
        .alpha(0.2)
        .final_response("seven")
}

#[tokio::test]
async fn a_trace_result_sets_every_field() {
    let world = World::new();
    let parsed: Parsed = everything("how many?", &world.client).await;
    assert_eq!(parsed, Parsed(7));
    let trace = world.only();
    assert_eq!(trace.task, "Count the apples");
    assert_eq!(trace.model.as_deref(), Some("m"));
    assert_eq!(trace.final_response.as_deref(), Some("seven"));
    assert_eq!(
        serde_json::Value::from(trace.metadata.clone()),
        json!({"customer": "acme"})
    );
    assert_eq!(review(&trace), Some((Verdict::Fail, "it was 8")));
    assert_eq!(trace.review.unwrap().alpha, Some(0.2));
}

/// A user-defined error.
#[derive(Debug)]
struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed: {}", self.0)
    }
}

impl Error for Failed {}

impl From<std::num::ParseIntError> for Failed {
    fn from(error: std::num::ParseIntError) -> Self {
        Self(error.to_string())
    }
}

type Outcome<T> = Result<TraceResult<T>, Failed>;
type Answer = TraceResult<u32>;

#[reflect_trace(client = client)]
fn through_an_alias(ctx: &TraceContext, number: &str, client: &ReflectClient) -> Outcome<u32> {
    let number = number.parse()?;
    Ok(TraceResult::new(number, ctx.task()))
}

#[reflect_trace(client = client)]
async fn through_another(ctx: &TraceContext, number: u32, client: &ReflectClient) -> Answer {
    TraceResult::new(number, ctx.task())
}

#[test]
fn aliases_are_seen_through() {
    let world = World::new();
    let number: Result<u32, Failed> = through_an_alias("7", &world.client);
    assert_eq!(number.unwrap(), 7);
    let error = through_an_alias("seven", &world.client).unwrap_err();
    assert_eq!(error.to_string(), "failed: invalid digit found in string");
    let number: u32 = pollster::block_on(through_another(8, &world.client));
    assert_eq!(number, 8);
    let recorded = world.recorded();
    assert_eq!(review(&recorded[0]), None);
    let feedback = "failed: invalid digit found in string";
    assert_eq!(review(&recorded[1]), Some((Verdict::Fail, feedback)));
    assert_eq!(recorded[1].trajectory, vec![Message::user("seven")].into());
}

/// Aliases that shadow the usual names.
mod renamed {
    use reflect_sdk::{
        ReflectClient, TraceContext, TraceOutput, TraceRecord, TraceReturn, reflect_trace,
    };

    use super::Failed;

    type Result<T> = std::result::Result<reflect_sdk::TraceResult<T>, Failed>;

    #[reflect_trace(client = client)]
    pub(super) fn result(_: &TraceContext, t: &str, client: &ReflectClient) -> Result<Text> {
        Ok(t.into())
    }

    #[reflect_trace(client = client)]
    pub(super) async fn result_later(
        ctx: &TraceContext,
        t: &str,
        client: &ReflectClient,
    ) -> Result<Text> {
        Ok(ctx.task().into())
    }

    type Text = std::string::String;
    type TraceResult = reflect_sdk::TraceResult<u32>;

    #[reflect_trace(client = client)]
    pub(super) fn number(ctx: &TraceContext, t: &str, client: &ReflectClient) -> TraceResult {
        TraceResult::new(7, ctx.task())
    }

    #[reflect_trace(client = client)]
    pub(super) async fn number_later(
        _: &TraceContext,
        t: &str,
        client: &ReflectClient,
    ) -> TraceResult {
        TraceResult::new(7, t)
    }

    pub(super) mod fallible {
        use super::{Failed, ReflectClient, TraceContext, reflect_trace};

        type TraceResult<E> = Result<reflect_sdk::TraceResult<u32>, E>;

        #[reflect_trace(client = client)]
        pub(in super::super) fn number(
            ctx: &TraceContext,
            t: &str,
            client: &ReflectClient,
        ) -> TraceResult<Failed> {
            Ok(reflect_sdk::TraceResult::new(7, ctx.task()))
        }
    }

    /// Not a text, despite its name.
    pub(super) struct String(pub(super) u32);

    impl TraceReturn for String {
        type Output = u32;

        fn record(&self) -> TraceRecord {
            TraceRecord::Output(TraceOutput::new(self.0.to_string()))
        }

        fn into_output(self) -> u32 {
            self.0
        }
    }

    #[reflect_trace(client = client)]
    pub(super) fn text(_: &TraceContext, t: &str, client: &ReflectClient) -> String {
        String(7)
    }
}

#[tokio::test]
async fn names_are_not_taken_for_what_they_usually_mean() {
    let world = World::new();
    let client = &world.client;
    let text: Result<String, Failed> = renamed::result("a", client);
    assert_eq!(text.unwrap(), "a");
    let text: Result<String, Failed> = renamed::result_later("b", client).await;
    assert_eq!(text.unwrap(), "b");
    let numbers: [u32; 4] = [
        renamed::number("c", client),
        renamed::number_later("d", client).await,
        renamed::fallible::number("e", client).unwrap(),
        renamed::text("f", client),
    ];
    assert_eq!(numbers, [7; 4]);
    assert_eq!(world.tasks(), ["a", "b", "c", "d", "e", "f"]);
}

#[reflect_trace(client = client)]
async fn dynamic(
    _: &TraceContext,
    number: &str,
    client: &ReflectClient,
) -> Result<String, Box<dyn Error + Send + Sync>> {
    let number: u32 = number.parse()?;
    if number == 0 {
        return Err("zero is no number of apples".into());
    }
    tokio::task::yield_now().await;
    Ok(number.to_string())
}

#[reflect_trace(client = client)]
fn with_anyhow(
    _: &TraceContext,
    number: &str,
    client: &ReflectClient,
) -> anyhow::Result<TraceResult<u32>> {
    anyhow::ensure!(number != "-", "nothing to count");
    let number = number.parse()?;
    Ok(TraceResult::recorded(number).pass())
}

#[tokio::test]
async fn an_error_is_recorded_and_returned_unchanged() {
    let world = World::new();
    let client = &world.client;
    assert_eq!(dynamic("7", client).await.unwrap(), "7");
    assert!(
        dynamic("x", client)
            .await
            .unwrap_err()
            .is::<std::num::ParseIntError>()
    );
    assert!(dynamic("0", client).await.is_err());
    assert_eq!(with_anyhow("7", client).unwrap(), 7);
    assert!(
        with_anyhow("x", client)
            .unwrap_err()
            .is::<std::num::ParseIntError>()
    );
    assert!(with_anyhow("-", client).is_err());
    let recorded = world.recorded();
    let reviews: Vec<_> = recorded.iter().map(review).collect();
    let digit = "invalid digit found in string";
    assert_eq!(
        reviews,
        [
            None,
            Some((Verdict::Fail, digit)),
            Some((Verdict::Fail, "zero is no number of apples")),
            Some((Verdict::Pass, "")),
            Some((Verdict::Fail, digit)),
            Some((Verdict::Fail, "nothing to count")),
        ]
    );
}

#[reflect_trace(client = client)]
fn unnamed(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> Result<impl TraceReturn<Output = String> + use<>, String> {
    if question == "-" {
        return Err("empty".to_owned());
    }
    Ok(ctx.task().to_owned())
}

#[reflect_trace(client = client)]
async fn unnamed_later(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> Option<impl TraceReturn<Output = u32>> {
    Some(TraceResult::new(7, ctx.task()))
}

#[reflect_trace(client = client, returns = "result")]
fn unnamed_whole(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> Result<impl TraceReturn, String> {
    if question == "-" {
        return Err("empty".to_owned());
    }
    Ok(ctx.task().to_owned())
}

#[reflect_trace(client = client)]
async fn unnamed_output(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> TraceResult<impl Iterator<Item = char>> {
    TraceResult::new(['a', 'b'].into_iter(), ctx.task())
}

#[reflect_trace(client = client)]
fn of_the_callers_choice<R: TraceReturn + From<String>>(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> R {
    ctx.task().to_owned().into()
}

#[tokio::test]
async fn types_without_a_name_can_be_returned() {
    let world = World::new();
    let client = &world.client;
    assert_eq!(unnamed("a", client).unwrap(), "a");
    assert_eq!(unnamed("-", client).unwrap_err(), "empty");
    assert_eq!(unnamed_later("b", client).await, Some(7));
    assert!(unnamed_whole("c", client).is_ok());
    assert_eq!(unnamed_whole("-", client).err().unwrap(), "empty");
    assert_eq!(unnamed_output("d", client).await.collect::<String>(), "ab");
    assert_eq!(of_the_callers_choice::<String>("e", client), "e");
    assert_eq!(of_the_callers_choice::<TraceResult>("f", client), "f");
    assert_eq!(world.tasks(), ["a", "-", "b", "c", "-", "d", "e", "f"]);
}

#[reflect_trace(client = client, returns = "result")]
async fn whole(ctx: &TraceContext, question: &str, client: &ReflectClient) -> TraceResult {
    ctx.task().into()
}

#[reflect_trace(client = client, returns = "result", until_learned)]
fn whole_at_once(
    ctx: &TraceContext,
    question: &str,
    client: &ReflectClient,
) -> Result<TraceResult, Failed> {
    Ok(ctx.task().into())
}

#[tokio::test]
async fn the_trace_can_be_known_to_the_caller() {
    let world = World::new();
    let result: TraceResult = whole("a", &world.client).await;
    let receipt = result.handle().unwrap().wait().await.unwrap();
    assert_eq!(result.trace_id(), Some(receipt.trace_id));
    let result = whole_at_once("b", &world.client).unwrap();
    assert!(result.trace_id().is_some());
}

#[reflect_trace(client = client, returns = "result")]
fn whole_unseen(_: &TraceContext, question: &str, client: &ReflectClient) -> TraceResult {
    question.into()
}

#[reflect_trace(client = client, returns = "result")]
async fn whole_unseen_later(_: &TraceContext, t: &str, client: &ReflectClient) -> TraceResult {
    t.into()
}

#[tokio::test]
async fn the_handle_of_a_disabled_client_says_that_nothing_was_recorded() {
    let client = &ReflectClient::disabled();
    let results = [
        whole_unseen("a", client),
        whole_unseen_later("a", client).await,
        whole("a", client).await,
        whole_at_once("a", client).unwrap(),
    ];
    for result in results {
        let outcome = result.handle().unwrap().wait().await;
        assert!(matches!(outcome, Err(reflect_sdk::Error::Disabled)));
    }
}
