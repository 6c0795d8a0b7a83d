use serde_json::Value;

use super::parts::{Fields, call, content, each, list, take_text, telling};
use crate::message::{Message, Role};
use crate::trajectory::Trajectory;

pub(super) fn convert(mut json: Value) -> Trajectory {
    let system = json
        .as_object_mut()
        .and_then(|fields| fields.remove("system"));
    let system = system.map(|text| Message::system(content(Some(text))));
    let rest = match list(json, &["messages"]) {
        Ok(messages) => each(messages, message),
        // A response is a message with more about it.
        Err(Value::Object(response)) => message(response),
        Err(other) => return Trajectory::from(other),
    };
    Trajectory::Messages(system.into_iter().chain(rest).collect())
}

/// A message of ours for each run of blocks that one of ours can hold.
fn message(mut fields: Fields) -> Vec<Message> {
    let role = take_text(&mut fields, "role");
    let role = role.map_or(Role::Assistant, |role| Role::from(role.as_str()));
    let blocks = match fields.remove("content") {
        Some(Value::Array(blocks)) => blocks,
        text => return vec![Message::new(role, content(text))],
    };
    let mut messages = Vec::new();
    let mut open = Open::default();
    for block in blocks {
        match (kind(&block), block) {
            (Kind::ToolUse, Value::Object(mut block)) => {
                let id = take_text(&mut block, "id");
                let name = take_text(&mut block, "name").unwrap_or_default();
                open.calls.push(call(id, name, block.remove("input")));
            }
            (Kind::ToolResult, Value::Object(block)) => {
                messages.extend(open.close(&role));
                messages.push(result(block));
            }
            (_, block) => open.parts.push(block),
        }
    }
    messages.extend(open.close(&role));
    messages
}

enum Kind {
    ToolUse,
    ToolResult,
    Other,
}

fn kind(block: &Value) -> Kind {
    match block.get("type").and_then(Value::as_str) {
        Some("tool_use") => Kind::ToolUse,
        Some("tool_result") => Kind::ToolResult,
        _ => Kind::Other,
    }
}

/// Blocks that wait to become one message.
#[derive(Default)]
struct Open {
    parts: Vec<Value>,
    calls: Vec<crate::message::ToolCall>,
}

impl Open {
    fn close(&mut self, role: &Role) -> Option<Message> {
        let Self { parts, calls } = std::mem::take(self);
        if parts.is_empty() && calls.is_empty() {
            return None;
        }
        let content = content((!parts.is_empty()).then_some(Value::Array(parts)));
        Some(Message {
            tool_calls: (!calls.is_empty()).then_some(calls),
            ..Message::new(role.clone(), content)
        })
    }
}

/// The answer of a tool; `is_error` is kept.
fn result(mut block: Fields) -> Message {
    let id = take_text(&mut block, "tool_use_id");
    let content = content(block.remove("content"));
    block.remove("type");
    Message {
        tool_call_id: id,
        extra: telling(block),
        ..Message::new(Role::Tool, content)
    }
}
