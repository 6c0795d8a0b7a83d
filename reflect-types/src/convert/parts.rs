//! What the converters share.

use serde_json::{Map, Value};

use crate::message::{Content, Message, ToolCall};

pub(crate) type Fields = Map<String, Value>;

/// The messages of a list, one or more for each object in it. Other values are kept as the text of an
/// assistant.
pub(crate) fn each(
    list: Vec<Value>,
    mut convert: impl FnMut(Fields) -> Vec<Message>,
) -> Vec<Message> {
    let messages = list.into_iter().flat_map(|item| match item {
        Value::Object(fields) => convert(fields),
        Value::String(text) => vec![Message::assistant(text)],
        other => vec![Message::assistant(other.to_string())],
    });
    messages.collect()
}

/// The list itself, or the one under the first of these keys of an object.
pub(crate) fn list(json: Value, keys: &[&str]) -> Result<Vec<Value>, Value> {
    match json {
        Value::Array(list) => Ok(list),
        Value::Object(mut fields) => {
            let found = keys.iter().find_map(|key| match fields.get_mut(*key) {
                Some(Value::Array(list)) => Some(std::mem::take(list)),
                _ => None,
            });
            found.ok_or(Value::Object(fields))
        }
        other => Err(other),
    }
}

/// The content of a message: the text of parts that are nothing but text, else the parts.
pub(crate) fn content(value: Option<Value>) -> Content {
    match value {
        None | Some(Value::Null) => Content::Null,
        Some(Value::String(text)) => Content::Text(text),
        Some(Value::Array(parts)) => {
            let texts: Option<Vec<&str>> = parts.iter().map(only_text).collect();
            match texts {
                Some(texts) => Content::Text(texts.join("\n")),
                None => Content::Parts(parts),
            }
        }
        Some(other) => Content::Text(other.to_string()),
    }
}

/// The text of a part that is nothing else.
fn only_text(part: &Value) -> Option<&str> {
    match part {
        Value::String(text) => Some(text),
        Value::Object(fields) => {
            let kind = fields.get("type").and_then(Value::as_str);
            let is_text = matches!(kind, None | Some("text" | "input_text" | "output_text"));
            fields.get("text")?.as_str().filter(|_| is_text)
        }
        _ => None,
    }
}

/// A tool call with arguments as they came.
pub(crate) fn call(id: Option<String>, name: String, arguments: Option<Value>) -> ToolCall {
    let call = ToolCall::new("", name, arguments.unwrap_or_else(|| "".into()));
    ToolCall { id, ..call }
}

/// A call in LangChain's shape or in that of OpenAI; `None` without a name.
pub(crate) fn any_call(json: Value) -> Option<ToolCall> {
    let Value::Object(mut fields) = json else {
        return None;
    };
    let id = take_text(&mut fields, "id");
    let (name, arguments) = if let Some(Value::Object(mut function)) = fields.remove("function") {
        let name = take_text(&mut function, "name");
        (name, function.remove("arguments"))
    } else {
        let arguments = fields.remove("args").or_else(|| fields.remove("arguments"));
        (take_text(&mut fields, "name"), arguments)
    };
    Some(call(id, name?, arguments))
}

/// Removes a text that is not empty.
pub(crate) fn take_text(fields: &mut Fields, key: &str) -> Option<String> {
    match fields.get_mut(key) {
        Some(Value::String(text)) if !text.is_empty() => {
            let text = std::mem::take(text);
            fields.remove(key);
            Some(text)
        }
        _ => None,
    }
}

/// What says something: neither null nor empty.
pub(crate) fn telling(fields: Fields) -> Fields {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    fields
        .into_iter()
        .filter(|(_, value)| !is_empty(value))
        .collect()
}
