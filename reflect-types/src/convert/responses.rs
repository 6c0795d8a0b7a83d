use serde_json::Value;

use super::parts::{Fields, call, content, each, list, take_text, telling};
use crate::message::{Message, Role};
use crate::trajectory::Trajectory;

pub(super) fn convert(json: Value) -> Trajectory {
    match list(json, &["input", "output"]) {
        Ok(items) => Trajectory::Messages(each(items, |item| vec![message(item)])),
        Err(Value::Object(mut fields)) => match fields.remove("input") {
            Some(Value::String(text)) => Trajectory::Messages(vec![Message::user(text)]),
            _ => Trajectory::Messages(vec![message(fields)]),
        },
        Err(Value::String(text)) => Trajectory::Messages(vec![Message::user(text)]),
        Err(other) => Trajectory::from(other),
    }
}

fn message(mut item: Fields) -> Message {
    let kind = item
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    match kind.as_str() {
        "function_call" => {
            let id = take_text(&mut item, "call_id").or_else(|| take_text(&mut item, "id"));
            let name = take_text(&mut item, "name").unwrap_or_default();
            Message::tool_calls([call(id, name, item.remove("arguments"))])
        }
        "function_call_output" => {
            let id = take_text(&mut item, "call_id").or_else(|| take_text(&mut item, "id"));
            Message {
                tool_call_id: id,
                ..Message::new(Role::Tool, content(item.remove("output")))
            }
        }
        "" | "message" if item.contains_key("role") || kind == "message" => {
            let role = take_text(&mut item, "role");
            let role = role.map_or(Role::Assistant, |role| Role::from(role.as_str()));
            item.remove("type");
            let content = content(item.remove("content"));
            // The id and the state of an item say nothing about the run.
            item.remove("id");
            item.remove("status");
            Message {
                extra: telling(item),
                ..Message::new(role, content)
            }
        }
        // A call of a hosted tool, reasoning, or what is not known yet.
        _ => Message::from(item),
    }
}
