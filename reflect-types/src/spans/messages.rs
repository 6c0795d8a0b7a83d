//! What a call of a model heard and said, by any of the conventions.

use serde_json::{Value, json};

use super::attributes::{list, parse, parsed};
use super::{Attributes, Span, SpanEvent};
use crate::convert::parts::{Fields, any_call, call, content, take_text, telling};
use crate::message::{Content, Message, Role};
use crate::trajectory::Trajectory;

/// The event with the attributes of a call, of the newer conventions.
const DETAILS: &str = "gen_ai.client.inference.operation.details";

/// The messages of a call.
#[derive(Default)]
pub(super) struct Spoken {
    pub(super) input: Vec<Message>,
    pub(super) output: Vec<Message>,
}

impl Spoken {
    pub(super) fn is_empty(&self) -> bool {
        self.input.is_empty() && self.output.is_empty()
    }
}

/// The messages of a span.
pub(super) fn spoken(span: &Span) -> Spoken {
    let details = span.events.iter().filter(|event| event.name == DETAILS);
    let details = details.map(|event| &event.attributes);
    let mut spoken = Spoken::default();
    for attributes in std::iter::once(&span.attributes).chain(details) {
        let said = of_attributes(attributes);
        if spoken.input.is_empty() {
            spoken.input = said.input;
        }
        if spoken.output.is_empty() {
            spoken.output = said.output;
        }
    }
    if spoken.is_empty() {
        spoken = of_events(&span.events);
    }
    if spoken.input.is_empty() {
        spoken.input = whole(&span.attributes, "input.value", &Role::User);
    }
    if spoken.output.is_empty() {
        spoken.output = whole(&span.attributes, "output.value", &Role::Assistant);
    }
    spoken
}

/// Attributes with messages: one JSON text, or one attribute a field.
fn of_attributes(attributes: &Attributes) -> Spoken {
    let read = |json: &str, lists: [&str; 2], role: Role| {
        if let Some(value) = attributes.get(json) {
            return each(parsed(value), &role);
        }
        let listed = lists.iter().map(|prefix| list(attributes, prefix));
        let listed = listed.into_iter().find(|items| !items.is_empty());
        let listed = listed.unwrap_or_default().into_iter();
        listed.flat_map(|item| message(item, &role)).collect()
    };
    let mut input = read(
        "gen_ai.input.messages",
        ["gen_ai.prompt", "llm.input_messages"],
        Role::User,
    );
    let has_system = |input: &[Message]| input.iter().any(|message| message.is(&Role::System));
    if let Some(rules) = attributes.get("gen_ai.system_instructions") {
        let rules = rules_text(&parsed(rules));
        if !rules.is_empty() && !has_system(&input) {
            input.insert(0, Message::system(rules));
        }
    }
    Spoken {
        input,
        output: read(
            "gen_ai.output.messages",
            ["gen_ai.completion", "llm.output_messages"],
            Role::Assistant,
        ),
    }
}

/// The text of system instructions: a text, or parts with texts.
fn rules_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(part_text).collect();
            texts.join("\n")
        }
        _ => String::new(),
    }
}

fn part_text(part: &Value) -> Option<&str> {
    let text = part.get("content").or_else(|| part.get("text"));
    text.unwrap_or(part).as_str()
}

/// The older conventions: an event for each message.
fn of_events(events: &[SpanEvent]) -> Spoken {
    let mut events: Vec<&SpanEvent> = events.iter().filter(|event| event.is_agents()).collect();
    events.sort_by_key(|event| event.time);
    let mut spoken = Spoken::default();
    for event in events {
        match event.name.as_str() {
            "gen_ai.choice" => {
                let body = body(event);
                let said = body.get("message").cloned().unwrap_or(body);
                let said = parsed(&said);
                spoken.output.extend(message(said, &Role::Assistant));
            }
            "gen_ai.content.prompt" => {
                spoken
                    .input
                    .extend(whole(&event.attributes, "gen_ai.prompt", &Role::User));
            }
            "gen_ai.content.completion" => {
                let said = whole(&event.attributes, "gen_ai.completion", &Role::Assistant);
                spoken.output.extend(said);
            }
            name => {
                let role = name.strip_prefix("gen_ai.");
                let role = role.and_then(|role| role.strip_suffix(".message"));
                if let Some(role) = role {
                    let role = Role::from(role);
                    let mut body = body(event);
                    if let (Role::Tool, Value::Object(fields)) = (&role, &mut body) {
                        if let Some(id) = fields.remove("id") {
                            fields.insert("tool_call_id".to_owned(), id);
                        }
                    }
                    spoken.input.extend(message(body, &role));
                }
            }
        }
    }
    spoken
}

/// The body of an event: of a log record, or in the attributes of an event of a span.
fn body(event: &SpanEvent) -> Value {
    if !event.body.is_null() {
        return parsed(&event.body);
    }
    if let Some(content) = event.attributes.get("gen_ai.event.content") {
        return parsed(content);
    }
    let fields = event.attributes.iter();
    let fields = fields.filter(|(name, _)| !name.contains('.'));
    fields
        .map(|(name, value)| match name.as_str() {
            "tool_calls" | "message" => (name.clone(), parsed(value)),
            _ => (name.clone(), value.clone()),
        })
        .collect()
}

/// An attribute that holds all messages, a request or a response, or a text.
pub(super) fn whole(attributes: &Attributes, name: &str, role: &Role) -> Vec<Message> {
    match attributes.get(name) {
        None => Vec::new(),
        Some(Value::String(text)) if text.trim().is_empty() => Vec::new(),
        Some(value) => each(parsed(value), role),
    }
}

/// The messages of a list, of a request with `messages`, or of a completion with `choices`.
fn each(value: Value, role: &Role) -> Vec<Message> {
    match value {
        Value::Array(items) => {
            let messages = items.into_iter().flat_map(|item| message(item, role));
            messages.collect()
        }
        Value::Object(mut fields) => {
            for key in ["messages", "choices"] {
                if let Some(Value::Array(items)) = fields.get_mut(key) {
                    return each(Value::Array(std::mem::take(items)), role);
                }
            }
            if fields.contains_key("input") || fields.contains_key("output") {
                return Trajectory::from_openai_responses(Value::Object(fields)).into_messages();
            }
            message(Value::Object(fields), role)
        }
        other => message(other, role),
    }
}

/// One message; several, if it has the answers of several tools.
fn message(value: Value, role: &Role) -> Vec<Message> {
    let mut fields = match value {
        Value::Object(fields) => fields,
        Value::Null => return Vec::new(),
        Value::String(text) if text.trim().is_empty() => return Vec::new(),
        Value::String(text) => return vec![Message::new(role.clone(), text)],
        other => return vec![Message::new(role.clone(), other.to_string())],
    };
    if !fields.contains_key("role") {
        if let Some(Value::Object(inner)) = fields.get_mut("message") {
            return message(Value::Object(std::mem::take(inner)), role);
        }
    }
    let role = take_text(&mut fields, "role").map_or_else(|| role.clone(), |role| role_of(&role));
    if let Some(Value::Array(parts)) = fields.remove("parts") {
        return of_parts(&role, parts);
    }
    if has_blocks(fields.get("content")) {
        fields.insert("role".to_owned(), role.as_str().into());
        return Trajectory::from_anthropic(json!([fields])).into_messages();
    }
    vec![of_fields(role, fields)]
}

fn role_of(name: &str) -> Role {
    match name {
        "human" => Role::User,
        "ai" | "model" => Role::Assistant,
        "function" => Role::Tool,
        other => Role::from(other),
    }
}

/// Whether it has blocks of Anthropic that are calls or answers of tools.
fn has_blocks(content: Option<&Value>) -> bool {
    let blocks = content.and_then(Value::as_array);
    blocks.is_some_and(|blocks| {
        blocks.iter().any(|block| {
            let kind = block.get("type").and_then(Value::as_str);
            matches!(kind, Some("tool_use" | "tool_result"))
        })
    })
}

/// A message of chat APIs, of OpenInference or of OpenLLMetry.
fn of_fields(role: Role, mut fields: Fields) -> Message {
    let calls: Vec<_> = match fields.remove("tool_calls") {
        Some(Value::Array(calls)) => calls
            .into_iter()
            .filter_map(|mut item| match item.get_mut("tool_call") {
                Some(inner) => any_call(inner.take()),
                None => any_call(item),
            })
            .collect(),
        _ => Vec::new(),
    };
    let text = match (fields.remove("content"), fields.remove("contents")) {
        // Parts as one text, as OpenLLMetry writes them.
        (Some(Value::String(text)), None) => match parse(&text) {
            Some(Value::Array(parts)) if parts.iter().all(|part| part.get("type").is_some()) => {
                content(Some(Value::Array(parts)))
            }
            _ => Content::Text(text),
        },
        (None, Some(Value::Array(parts))) => {
            let inner = |mut part: Value| match part.get_mut("message_content") {
                Some(inner) => inner.take(),
                None => part,
            };
            content(Some(parts.into_iter().map(inner).collect()))
        }
        (value, _) => content(value),
    };
    for unsaid in ["finish_reason", "index", "id"] {
        fields.remove(unsaid);
    }
    Message {
        tool_calls: (!calls.is_empty()).then_some(calls),
        tool_call_id: take_text(&mut fields, "tool_call_id"),
        name: take_text(&mut fields, "name"),
        extra: telling(fields),
        ..Message::new(role, text)
    }
}

/// A message of the newer GenAI conventions.
fn of_parts(role: &Role, parts: Vec<Value>) -> Vec<Message> {
    let (mut said, mut calls, mut answers) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        let mut fields = match part {
            Value::Object(fields) => fields,
            other => {
                said.push(other);
                continue;
            }
        };
        let kind = fields
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match kind {
            "text" => {
                let text = fields.remove("content").or_else(|| fields.remove("text"));
                said.push(json!({"type": "text", "text": text.unwrap_or_default()}));
            }
            "tool_call" => {
                let id = take_text(&mut fields, "id");
                let name = take_text(&mut fields, "name").unwrap_or_default();
                calls.push(call(id, name, fields.remove("arguments")));
            }
            "tool_call_response" => {
                let answer = fields
                    .remove("response")
                    .or_else(|| fields.remove("result"));
                answers.push(Message {
                    tool_call_id: take_text(&mut fields, "id"),
                    ..Message::new(Role::Tool, content(answer))
                });
            }
            _ => said.push(Value::Object(fields)),
        }
    }
    if !said.is_empty() || !calls.is_empty() {
        let text = content((!said.is_empty()).then_some(Value::Array(said)));
        let message = Message {
            tool_calls: (!calls.is_empty()).then_some(calls),
            ..Message::new(role.clone(), text)
        };
        answers.insert(0, message);
    }
    answers
}
