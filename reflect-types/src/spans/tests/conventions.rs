//! The attributes and events that tell a conversation.

use serde_json::{Value, json};

use super::{TRACE, only_run, span, told};
use crate::spans::{Span, SpanEvent, SpanRecord, runs};
use crate::usage::Usage;

/// The run of the two calls below.
pub(super) const WEATHER: [[&str; 4]; 5] = [
    ["system", "Be short.", "", ""],
    ["user", "What is the weather in Oslo?", "", ""],
    ["assistant", "", "weather", ""],
    ["tool", "4 degrees, rain", "", "call_1"],
    ["assistant", "Take an umbrella.", "", ""],
];

/// Two calls of a model below a span of the program, by `convention`.
pub(super) fn weather(convention: fn(bool) -> Value) -> Vec<Span> {
    vec![
        span("b", Some("a"), 10, convention(false)),
        span("c", Some("a"), 20, convention(true)),
        span("a", None, 1, json!({"http.method": "POST"})),
    ]
}

/// `gen_ai.input.messages`, as `opentelemetry-instrumentation-openai-v2` writes them.
pub(super) fn newer(second: bool) -> Value {
    let mut input = json!([
        {"role": "system", "parts": [{"content": "Be short.", "type": "text"}]},
        {"role": "user", "parts": [{"content": "What is the weather in Oslo?", "type": "text"}]},
    ]);
    let call = json!({"arguments": {"city": "Oslo"}, "name": "weather", "id": "call_1", "type": "tool_call"});
    let mut output = json!([{"role": "assistant", "parts": [call], "finish_reason": "tool_calls"}]);
    if second {
        let input = input.as_array_mut().unwrap();
        input.push(json!({"role": "assistant", "parts": [call]}));
        input.push(json!({"role": "tool", "parts": [
            {"response": "4 degrees, rain", "id": "call_1", "type": "tool_call_response"},
        ]}));
        output = json!([{"role": "assistant", "parts": [
            {"content": "Take an umbrella.", "type": "text"},
        ], "finish_reason": "stop"}]);
    }
    json!({
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5.4",
        "gen_ai.response.model": "gpt-5.4-mini",
        "gen_ai.usage.input_tokens": 11, "gen_ai.usage.output_tokens": 7,
        "gen_ai.input.messages": input.to_string(), "gen_ai.output.messages": output.to_string(),
    })
}

/// As `openinference-instrumentation-openai` writes them.
fn open_inference(second: bool) -> Value {
    let mut attributes = json!({
        "openinference.span.kind": "LLM", "llm.model_name": "gpt-5.4-mini",
        "llm.token_count.prompt": 11, "llm.token_count.completion": 7,
        "input.value": "{\"messages\": []}",
        "llm.tools.0.tool.json_schema": "{}",
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be short.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.contents.0.message_content.type": "text",
        "llm.input_messages.1.message.contents.0.message_content.text": "What is the weather in Oslo?",
        "llm.output_messages.0.message.role": "assistant",
    });
    let fields = attributes.as_object_mut().unwrap();
    let prefix = if second {
        "llm.input_messages.2.message"
    } else {
        "llm.output_messages.0.message"
    };
    for (name, value) in [
        ("id", "call_1"),
        ("function.name", "weather"),
        ("function.arguments", "{\"city\": \"Oslo\"}"),
    ] {
        let name = format!("{prefix}.tool_calls.0.tool_call.{name}");
        fields.insert(name, value.into());
    }
    if second {
        for (name, value) in [
            ("input_messages.2.message.role", "assistant"),
            ("input_messages.3.message.role", "tool"),
            ("input_messages.3.message.tool_call_id", "call_1"),
            ("input_messages.3.message.content", "4 degrees, rain"),
            ("output_messages.0.message.content", "Take an umbrella."),
        ] {
            fields.insert(format!("llm.{name}"), value.into());
        }
    }
    attributes
}

/// As earlier versions of `opentelemetry-instrumentation-openai` (OpenLLMetry) write them.
fn open_llmetry(second: bool) -> Value {
    let mut attributes = json!({
        "llm.request.type": "chat", "gen_ai.system": "OpenAI",
        "gen_ai.request.model": "gpt-5.4", "gen_ai.response.model": "gpt-5.4-mini",
        "gen_ai.usage.prompt_tokens": 11, "gen_ai.usage.completion_tokens": 7,
        "gen_ai.prompt.0.role": "system", "gen_ai.prompt.0.content": "Be short.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": "[{\"type\": \"text\", \"text\": \"What is the weather in Oslo?\"}]",
        "gen_ai.completion.0.role": "assistant",
    });
    let fields = attributes.as_object_mut().unwrap();
    let prefix = if second {
        "gen_ai.prompt.2"
    } else {
        "gen_ai.completion.0"
    };
    for (name, value) in [
        ("id", "call_1"),
        ("name", "weather"),
        ("arguments", "{\"city\": \"Oslo\"}"),
    ] {
        fields.insert(format!("{prefix}.tool_calls.0.{name}"), value.into());
    }
    if second {
        for (name, value) in [
            ("prompt.2.role", "assistant"),
            ("prompt.3.role", "tool"),
            ("prompt.3.tool_call_id", "call_1"),
            ("prompt.3.content", "4 degrees, rain"),
            ("completion.0.content", "Take an umbrella."),
        ] {
            fields.insert(format!("gen_ai.{name}"), value.into());
        }
    }
    attributes
}

#[test]
fn every_convention_makes_the_same_run() {
    for convention in [newer, open_inference, open_llmetry] {
        let run = only_run(weather(convention));
        assert_eq!(told(&run), WEATHER);
        assert_eq!(run.task, "What is the weather in Oslo?");
        assert_eq!(run.model.as_deref(), Some("gpt-5.4-mini"));
        assert_eq!(run.usage, Some(Usage::new(22, 14)));
        assert_eq!(run.metadata["otel_trace_id"], TRACE);
        let key = format!("otlp-{TRACE}-a");
        assert_eq!(run.idempotency_key, Some(key));
    }
}

fn event(name: &str, time: u64, body: Value) -> SpanEvent {
    SpanEvent {
        name: name.to_owned(),
        time,
        body,
        ..SpanEvent::default()
    }
}

/// The events of the conventions up to 1.36.
fn events() -> [Vec<SpanEvent>; 2] {
    let call = json!([{"id": "call_1", "type": "function", "function": {
        "name": "weather", "arguments": "{\"city\": \"Oslo\"}"
    }}]);
    let asked = [
        event("gen_ai.system.message", 1, json!({"content": "Be short."})),
        event(
            "gen_ai.user.message",
            2,
            json!({"content": "What is the weather in Oslo?"}),
        ),
    ];
    let choice = json!({"index": 0, "finish_reason": "tool_calls", "message": {
        "role": "assistant", "tool_calls": call
    }});
    let mut first = asked.to_vec();
    first.push(event("gen_ai.choice", 3, choice));
    let mut second = asked.to_vec();
    second.extend([
        event("gen_ai.assistant.message", 4, json!({"tool_calls": call})),
        event(
            "gen_ai.tool.message",
            5,
            json!({"content": "4 degrees, rain", "id": "call_1"}),
        ),
        event(
            "gen_ai.choice",
            6,
            json!({"index": 0, "message": {"role": "assistant", "content": "Take an umbrella."}}),
        ),
    ]);
    [first, second]
}

#[test]
fn messages_may_be_events_of_the_span_or_log_records_that_name_it() {
    let spans =
        || weather(|_| json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}));
    let mut with_events = spans();
    for (span, events) in with_events.iter_mut().zip(events()) {
        span.events = events;
    }
    assert_eq!(told(&only_run(with_events)), WEATHER);

    // Log records come by themselves, here before their span.
    let mut records = Vec::new();
    for (span_id, events) in ["b", "c"].iter().zip(events()) {
        records.extend(events.into_iter().map(|event| SpanRecord::Event {
            trace_id: TRACE.to_owned(),
            span_id: (*span_id).to_owned(),
            event,
        }));
    }
    records.extend(super::records(spans()));
    let made = runs(records);
    assert_eq!(told(&made.runs[0]), WEATHER);

    // The bodies of events of a span are attributes.
    let mut spans = spans();
    for (span, events) in spans.iter_mut().zip(events()) {
        span.events = events;
        for event in &mut span.events {
            let body = std::mem::take(&mut event.body);
            for (name, value) in body.as_object().unwrap() {
                let value = if value.is_object() || value.is_array() {
                    value.to_string().into()
                } else {
                    value.clone()
                };
                event.attributes.insert(name.clone(), value);
            }
        }
    }
    assert_eq!(told(&only_run(spans)), WEATHER);
}

#[test]
fn the_details_of_a_call_may_be_a_log_record() {
    let mut spans = weather(|_| json!({"gen_ai.operation.name": "chat"}));
    for (span, second) in spans.iter_mut().zip([false, true]) {
        let Value::Object(attributes) = newer(second) else {
            panic!("attributes are an object");
        };
        span.events = vec![SpanEvent {
            name: "gen_ai.client.inference.operation.details".to_owned(),
            attributes,
            ..SpanEvent::default()
        }];
    }
    assert_eq!(told(&only_run(spans)), WEATHER);
}
