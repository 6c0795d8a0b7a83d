use serde_json::Value;

use super::parts::{Fields, any_call, content, each, list, take_text, telling};
use crate::message::{Message, Role};
use crate::trajectory::Trajectory;

pub(super) fn convert(json: Value) -> Trajectory {
    match list(json, &["messages"]) {
        Ok(messages) => Trajectory::Messages(each(messages, |fields| vec![message(fields)])),
        Err(Value::Object(fields)) => Trajectory::Messages(vec![message(fields)]),
        Err(other) => Trajectory::from(other),
    }
}

fn message(fields: Fields) -> Message {
    let (kind, mut fields) = unwrapped(fields);
    let role = match kind.as_str() {
        "human" | "HumanMessage" | "HumanMessageChunk" => Role::User,
        "ai" | "AIMessage" | "AIMessageChunk" => Role::Assistant,
        "tool" | "function" | "ToolMessage" | "FunctionMessage" => Role::Tool,
        "system" | "SystemMessage" => Role::System,
        _ => match take_text(&mut fields, "role") {
            Some(role) => Role::from(role.as_str()),
            None => Role::Assistant,
        },
    };
    let calls = match fields.remove("tool_calls") {
        Some(Value::Array(calls)) => calls.into_iter().filter_map(any_call).collect(),
        _ => Vec::new(),
    };
    let content = content(fields.remove("content"));
    fields.remove("id");
    Message {
        tool_calls: (!calls.is_empty()).then_some(calls),
        tool_call_id: take_text(&mut fields, "tool_call_id"),
        name: take_text(&mut fields, "name"),
        extra: telling(fields),
        ..Message::new(role, content)
    }
}

/// The type of a message and its fields, out of each of the three forms.
fn unwrapped(mut fields: Fields) -> (String, Fields) {
    let kind = take_text(&mut fields, "type").unwrap_or_default();
    match (fields.remove("kwargs"), fields.remove("data")) {
        // `dumpd()`: the class is the last part of its id.
        (Some(Value::Object(mut inner)), _) if kind == "constructor" => {
            let path = fields.get("id").and_then(Value::as_array);
            let class = path.and_then(|path| path.last()?.as_str());
            let class = class.unwrap_or_default().to_owned();
            inner.remove("type");
            (class, inner)
        }
        // `messages_to_dict()`
        (_, Some(Value::Object(mut inner))) if !fields.contains_key("content") => {
            inner.remove("type");
            (kind, inner)
        }
        (kwargs, data) => {
            for (key, value) in [("kwargs", kwargs), ("data", data)] {
                if let Some(value) = value {
                    fields.insert(key.to_owned(), value);
                }
            }
            (kind, fields)
        }
    }
}
