mod conventions;

use conventions::{WEATHER, newer, weather};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Span, SpanEvent, SpanRecord, runs};
use crate::message::{Content, Message, Role};
use crate::requests::CreateTrace;
use crate::validate::Validate as _;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

fn span(id: &str, parent: Option<&str>, start: u64, attributes: Value) -> Span {
    let Value::Object(attributes) = attributes else {
        panic!("attributes are an object");
    };
    Span {
        trace_id: TRACE.to_owned(),
        span_id: id.to_owned(),
        parent_span_id: parent.map(str::to_owned),
        name: format!("span {id}"),
        start,
        end: start + 1,
        attributes,
        ..Span::default()
    }
}

fn records(spans: Vec<Span>) -> Vec<SpanRecord> {
    let mut records: Vec<SpanRecord> = spans.into_iter().map(SpanRecord::Span).collect();
    records.iter_mut().for_each(SpanRecord::keep_the_agents);
    records
}

fn only_run(spans: Vec<Span>) -> CreateTrace {
    let mut made = runs(records(spans));
    assert_eq!((made.runs.len(), made.without_content), (1, 0), "{made:?}");
    let run = made.runs.remove(0);
    run.validate().unwrap();
    run
}

/// Role, text, the name of a call and whom a tool answers.
fn told(run: &CreateTrace) -> Vec<[String; 4]> {
    let messages = run.trajectory.clone().into_messages();
    let row = |message: &Message| {
        let call = message.calls().first();
        [
            message.role.as_ref().map_or("", Role::as_str).to_owned(),
            message.text().into_owned(),
            call.map_or_else(String::new, |call| call.function.name.clone()),
            message.tool_call_id.clone().unwrap_or_default(),
        ]
    };
    messages.iter().map(row).collect()
}

fn says(role: &str, text: &str) -> Value {
    json!([{"role": role, "parts": [{"type": "text", "content": text}]}])
}

fn chat(question: &str, answer: &str) -> Value {
    json!({
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": says("user", question),
        "gen_ai.output.messages": says("assistant", answer),
    })
}

#[test]
fn an_agent_with_its_agents_is_one_run_and_two_agents_side_by_side_are_two() {
    let agent =
        |name: &str| json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name});
    let spans = vec![
        span("root", None, 0, json!({})),
        span("a", Some("root"), 1, agent("first")),
        span("aa", Some("a"), 2, agent("helper")),
        span("aa1", Some("aa"), 3, chat("Find the rule", "Rule 7")),
        span("a1", Some("a"), 4, chat("Refund order 7", "Done")),
        span("b", Some("root"), 5, agent("second")),
        span("b1", Some("b"), 6, chat("Cancel order 8", "Cancelled")),
        span("db", Some("root"), 7, json!({"db.system": "sqlite"})),
    ];
    let made = runs(records(spans));
    let found: Vec<(&str, &Value, usize)> = made
        .runs
        .iter()
        .map(|run| (run.task.as_str(), &run.metadata["agent"], told(run).len()))
        .collect();
    assert_eq!(
        found,
        [
            ("Find the rule", &json!("first"), 4),
            ("Cancel order 8", &json!("second"), 2),
        ]
    );
    assert_eq!(made.unused, 2, "the root and the database");
}

#[test]
fn a_span_with_a_task_is_a_run_wherever_it_is() {
    let spans = vec![
        span("job", None, 0, json!({"openinference.span.kind": "CHAIN"})),
        span(
            "a",
            Some("job"),
            1,
            json!({"reflect.task": "Sort this", "reflect.memory_ids": ["m-1"]}),
        ),
        span(
            "a1",
            Some("a"),
            2,
            chat("Sort this\n<memories>…</memories>", "x"),
        ),
        span(
            "b",
            Some("job"),
            3,
            json!({"reflect.task": "Sort that", "reflect.memory_ids": "m-1, m-2"}),
        ),
        span("b1", Some("b"), 4, chat("Sort that", "y")),
    ];
    let made = runs(records(spans));
    let tasks: Vec<&str> = made.runs.iter().map(|run| run.task.as_str()).collect();
    assert_eq!(tasks, ["Sort this", "Sort that"]);
    assert_eq!(made.runs[1].retrieved_memory_ids, ["m-1", "m-2"]);
    assert_eq!(made.unused, 1);
}

#[test]
fn each_call_of_a_tool_that_no_model_tells_is_kept() {
    const CALLS: usize = 10_000;

    let tool = |n: usize| {
        let result = format!("{n} degrees");
        json!({"openinference.span.kind": "TOOL", "tool.name": "weather", "output.value": result})
    };
    // As many as a trace may have: each is looked at once.
    let spans = (0..CALLS).map(|n| span(&format!("t{n:05}"), Some("a"), 10, tool(n)));
    let agent = json!({"openinference.span.kind": "AGENT", "input.value": "Compare them"});
    let spans = spans.chain([span("a", None, 1, agent)]).collect();
    let mut made = runs(records(spans));
    let told = told(&made.runs.remove(0));
    assert_eq!(told.len(), 2 * CALLS);
    assert_eq!(told[2], ["assistant", "", "weather", ""]);
    assert_eq!(told[3], ["tool", "1 degrees", "", "t00001"]);
}

#[test]
fn calls_without_ids_are_answered_in_their_order() {
    let call = json!({"type": "tool_call", "name": "weather", "arguments": {}});
    let model = json!({
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json!([{"role": "user", "content": "Compare them"}]).to_string(),
        "gen_ai.output.messages": json!([{"role": "assistant", "parts": [call, call]}]).to_string(),
    });
    let tool = |answer: &str| {
        json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather",
            "gen_ai.tool.call.result": answer})
    };
    let run = only_run(vec![
        span("c", Some("a"), 20, tool("rain")),
        span("d", Some("a"), 30, tool("sun")),
        // Repeats what was told, as a span within another one.
        span("e", Some("d"), 31, tool("sun")),
        span("b", Some("a"), 10, model),
        span(
            "a",
            None,
            1,
            json!({"gen_ai.operation.name": "invoke_agent"}),
        ),
    ]);
    let texts: Vec<String> = told(&run).into_iter().map(|[_, text, ..]| text).collect();
    assert_eq!(texts, ["Compare them", "", "rain", "sun"]);
}

#[test]
fn tools_with_spans_of_their_own_answer_the_call_once() {
    let tool = json!({
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather",
        "gen_ai.tool.call.id": "call_1", "gen_ai.tool.call.result": "4 degrees, rain",
    });
    let mut spans = weather(newer);
    spans.push(span("t", Some("a"), 15, tool.clone()));
    assert_eq!(told(&only_run(spans)), WEATHER);
    // A model that told no more.
    let mut spans = weather(newer);
    spans.remove(1);
    spans.push(span("t", Some("a"), 15, tool));
    assert_eq!(told(&only_run(spans)), WEATHER[..4]);
    // A tool that no model has called, and that failed.
    let failing = json!({"traceloop.span.kind": "tool", "traceloop.entity.name": "refund",
        "traceloop.entity.input": "{\"order\": 7}"});
    let mut failing = span("t", Some("a"), 15, failing);
    failing.error = Some("order 7 is closed".to_owned());
    let agent = json!({"traceloop.span.kind": "workflow",
        "traceloop.entity.input": "{\"args\": [\"Refund order 7\"], \"kwargs\": {}}",
        "traceloop.entity.output": "\"Not possible\""});
    let run = only_run(vec![failing, span("a", None, 1, agent)]);
    assert_eq!(run.task, "Refund order 7");
    assert_eq!(run.final_response.as_deref(), Some("Not possible"));
    let expected = [
        ["assistant", "", "refund", ""],
        ["tool", "Error: order 7 is closed", "", "t"],
    ];
    assert_eq!(told(&run), expected);
}

#[test]
fn metadata_session_and_error_come_from_attributes() {
    let mut top = span(
        "a",
        None,
        1,
        json!({
            "openinference.span.kind": "AGENT", "session.id": "s-1", "metadata": "{\"team\": \"eu\"}",
            "reflect.metadata.ticket": "123", "service.name": "desk",
            "traceloop.association.properties.tenant": "t-1",
        }),
    );
    top.error = Some(String::new());
    top.events = vec![SpanEvent {
        name: "exception".to_owned(),
        attributes: [("exception.message".to_owned(), json!("no rule"))]
            .into_iter()
            .collect(),
        ..SpanEvent::default()
    }];
    let run = only_run(vec![top, span("b", Some("a"), 2, chat("Refund", "?"))]);
    for (name, value) in [
        ("team", "eu"),
        ("ticket", "123"),
        ("tenant", "t-1"),
        ("service", "desk"),
        ("error", "no rule"),
    ] {
        assert_eq!(run.metadata[name], value, "{name}");
    }
    assert_eq!(run.session_id.as_deref(), Some("s-1"));
}

#[test]
fn a_run_within_another_names_it() {
    let task = |task: &str| json!({"reflect.task": task});
    let made = runs(records(vec![
        span("http", None, 0, json!({"http.method": "POST"})),
        span("plan", Some("http"), 1, task("Plan")),
        span("p1", Some("plan"), 2, chat("Plan", "First this")),
        span("step", Some("p1"), 3, task("Step")),
        span("s1", Some("step"), 4, chat("Step", "Done")),
    ]));
    let parents: Vec<_> = made
        .runs
        .iter()
        .map(|run| run.parent_run_id.clone())
        .collect();
    // The request that the outer one came with is no run.
    assert_eq!(parents, [None, made.runs[0].idempotency_key.clone()]);
}

#[test]
fn a_run_that_an_sdk_records_itself_is_left_out() {
    let own = json!({"gen_ai.operation.name": "invoke_agent", "reflect.run_id": "run-1"});
    let made = runs(records(vec![
        span("http", None, 0, json!({"http.method": "POST"})),
        span("own", Some("http"), 1, own),
        span("chat", Some("own"), 2, chat("Refund", "Done")),
        span("other", Some("http"), 3, chat("Cancel", "Done")),
    ]));
    let tasks: Vec<&str> = made.runs.iter().map(|run| run.task.as_str()).collect();
    assert_eq!((tasks, made.unused), (vec!["Cancel"], 2));
}

#[test]
fn calls_whose_content_was_not_recorded_are_counted() {
    let made = runs(records(weather(
        |_| json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}),
    )));
    assert_eq!((made.runs.len(), made.without_content), (0, 1));
    let other = runs(records(vec![span(
        "a",
        None,
        1,
        json!({"http.method": "GET"}),
    )]));
    assert_eq!((other.runs.len(), other.unused), (0, 1));
    let embeddings = json!({"gen_ai.operation.name": "embeddings"});
    assert_eq!(
        runs(records(vec![span("a", None, 1, embeddings)])).unused,
        1
    );
}

#[test]
fn calls_of_a_caller_that_never_arrived_are_one_run() {
    let mut spans = weather(newer);
    spans.pop();
    let run = only_run(spans);
    assert_eq!(told(&run), WEATHER);
    assert_eq!(run.idempotency_key, Some(format!("otlp-{TRACE}-b")));
}

#[test]
fn a_circle_of_parents_is_cut_at_its_oldest_span() {
    let spans = vec![
        span("a", Some("c"), 3, json!({})),
        span("b", Some("a"), 1, json!({})),
        span("c", Some("b"), 2, chat("Refund", "Done")),
        span("self", Some("self"), 9, chat("Cancel", "Done")),
    ];
    let made = runs(records(spans));
    let tasks: Vec<&str> = made.runs.iter().map(|run| run.task.as_str()).collect();
    assert_eq!(tasks, ["Refund", "Cancel"]);
}

#[test]
fn deep_or_odd_texts_stay_texts() {
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    let run = only_run(vec![span(
        "a",
        None,
        1,
        json!({
            "gen_ai.operation.name": "chat", "gen_ai.input.messages": deep, "gen_ai.completion.0.content": "x",
            format!("gen_ai.prompt.{}", "0.".repeat(5_000)): "y",
        }),
    )]);
    let messages = run.trajectory.into_messages();
    assert_eq!(messages[0].content, Some(Content::Text(deep)));
}

#[test]
fn what_no_run_is_made_of_is_not_kept() {
    let long = "x".repeat(1_000);
    let mut record = SpanRecord::Span(span(
        "a",
        None,
        1,
        json!({
            "db.statement": long, "gen_ai.tool.definitions": long, "llm.invocation_parameters": long,
            "input.value": long, "llm.input_messages.0.message.content": "Hi",
        }),
    ));
    record.keep_the_agents();
    let SpanRecord::Span(kept) = record else {
        panic!("a span");
    };
    assert_eq!(kept.attributes.len(), 1, "{kept:?}");
}

proptest! {
    /// Spans arrive in any order, some of them twice, and name any parent.
    #[test]
    fn the_order_of_arrival_changes_nothing(
        parents in prop::collection::vec(prop::option::of(0_usize..12), 1..12),
        order in prop::collection::vec(any::<prop::sample::Index>(), 40),
        repeated in any::<prop::sample::Index>(),
    ) {
        let kinds = [
            chat("Refund", "Done"), json!({"openinference.span.kind": "AGENT"}), json!({}),
            json!({"gen_ai.operation.name": "execute_tool", "output.value": "4"}),
        ];
        let spans: Vec<Span> = parents.iter().enumerate().map(|(at, parent)| {
            let parent = parent.map(|parent| format!("s{parent}"));
            span(&format!("s{at}"), parent.as_deref(), at as u64, kinds[at % 4].clone())
        }).collect();
        let expected = runs(records(spans.clone()));
        let count: usize = spans.len();
        let mut shuffled = spans;
        shuffled.push(shuffled[repeated.index(count)].clone());
        for (at, index) in order.iter().enumerate() {
            let (one, other) = (at % shuffled.len(), index.index(shuffled.len()));
            shuffled.swap(one, other);
        }
        prop_assert_eq!(runs(records(shuffled)), expected);
    }
}
