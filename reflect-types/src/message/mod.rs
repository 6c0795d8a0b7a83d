//! The steps of a run.

mod content;
mod fields;
mod tool_call;

use std::borrow::Cow;

use serde::de::Error as _;
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

pub use self::content::Content;
use self::fields::{put, put_others, take, take_string};
pub use self::tool_call::{FunctionCall, ToolCall};
use crate::wire_enum::wire_enum;

wire_enum! {
    /// The speaker of a message.
    pub enum Role {
        /// Rules for the agent.
        System = "system",
        /// Rules for the agent, by the newer name.
        Developer = "developer",
        /// The person or program that gives the task.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// The result of a tool.
        Tool = "tool",
    }
}

/// One step of a run, in the shape that chat APIs share.
///
/// Any JSON object is a message, and is serialized unchanged: what does not fit a field is in
/// [`extra`](Self::extra).
///
/// ```
/// use reflect_types::{Message, ToolCall};
///
/// let steps = vec![
///     Message::user("What is the weather in Oslo?"),
///     Message::tool_calls([ToolCall::new("call_1", "weather", r#"{"city":"Oslo"}"#)]),
///     Message::tool("call_1", "4 degrees, rain").name("weather"),
///     Message::assistant("Take an umbrella."),
/// ];
/// assert_eq!(steps[1].calls()[0].function.name, "weather");
/// assert_eq!(steps[3].text(), "Take an umbrella.");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The speaker, if given.
    pub role: Option<Role>,
    /// The content; `None` if the field is missing.
    pub content: Option<Content>,
    /// The tools that the agent calls.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// The call that a tool message answers.
    pub tool_call_id: Option<String>,
    /// The name of the tool or the speaker.
    pub name: Option<String>,
    /// All other fields, unchanged.
    pub extra: Map<String, Value>,
}

impl Message {
    /// A message with this role.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role: Some(role),
            content: Some(content.into()),
            ..Self::empty()
        }
    }

    /// A system message: rules for the agent.
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Role::System, content)
    }

    /// A message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// A message of the agent.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// A message of the agent that only calls tools.
    pub fn tool_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let calls = calls.into_iter().collect();
        Self {
            tool_calls: Some(calls),
            ..Self::new(Role::Assistant, Content::Null)
        }
    }

    /// The result of the tool call `id`.
    pub fn tool(id: impl Into<String>, content: impl Into<Content>) -> Self {
        Self {
            tool_call_id: Some(id.into()),
            ..Self::new(Role::Tool, content)
        }
    }

    /// Sets the name of the tool or the speaker.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds a field to [`extra`](Self::extra).
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(key.into(), value.into());
        self
    }

    /// The text of the message: the texts of its parts joined by newlines, or `""`.
    pub fn text(&self) -> Cow<'_, str> {
        self.content
            .as_ref()
            .map_or(Cow::Borrowed(""), Content::text)
    }

    /// The tools that the agent calls, if any.
    pub fn calls(&self) -> &[ToolCall] {
        self.tool_calls.as_deref().unwrap_or_default()
    }

    /// Whether the message has this role.
    pub fn is(&self, role: &Role) -> bool {
        self.role.as_ref() == Some(role)
    }

    fn empty() -> Self {
        Self {
            role: None,
            content: None,
            tool_calls: None,
            tool_call_id: None,
            name: None,
            extra: Map::new(),
        }
    }
}

impl From<Map<String, Value>> for Message {
    fn from(mut fields: Map<String, Value>) -> Self {
        Self {
            role: take_string(&mut fields, "role").map(|role| Role::from(role.as_str())),
            content: take(&mut fields, "content", Content::from_json),
            tool_calls: take(&mut fields, "tool_calls", |value| {
                value.as_array()?.iter().map(ToolCall::from_json).collect()
            }),
            tool_call_id: take_string(&mut fields, "tool_call_id"),
            name: take_string(&mut fields, "name"),
            extra: fields,
        }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        // Directly: a run has many messages, and a map of each takes longer to make than to write.
        let mut map = to.serialize_map(None)?;
        put(&mut map, "role", self.role.as_ref())?;
        put(&mut map, "content", self.content.as_ref())?;
        put(&mut map, "tool_calls", self.tool_calls.as_ref())?;
        put(&mut map, "tool_call_id", self.tool_call_id.as_ref())?;
        put(&mut map, "name", self.name.as_ref())?;
        put_others(&mut map, &self.extra, |key| match key {
            "role" => self.role.is_some(),
            "content" => self.content.is_some(),
            "tool_calls" => self.tool_calls.is_some(),
            "tool_call_id" => self.tool_call_id.is_some(),
            "name" => self.name.is_some(),
            _ => false,
        })?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Value::deserialize(from)? {
            Value::Object(fields) => Ok(fields.into()),
            other => Err(D::Error::custom(format!(
                "a message must be an object such as {{\"role\": \"user\", \"content\": \"…\"}}, got {}",
                kind(&other)
            ))),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_that_do_not_fit_a_field_are_kept_unchanged() {
        let odd = json!({
            "role": 7, "content": {"a": 1}, "tool_calls": "none", "name": null, "thoughts": [1, 2]
        });
        let message: Message = serde_json::from_value(odd.clone()).unwrap();
        assert_eq!(message.role, None);
        assert_eq!(message.text(), "");
        assert_eq!(message.extra.len(), 5);
        assert_eq!(serde_json::to_value(message).unwrap(), odd);
    }

    #[test]
    fn a_field_is_written_once_as_it_was_set_last() {
        let mut call = ToolCall::new("c1", "weather", json!({"city": "Oslo"}));
        call.extra.insert("id".to_owned(), "c0".into());
        call.function.extra.insert("name".to_owned(), "rain".into());
        let message = Message::tool_calls([call])
            .with("role", "nobody")
            .with("n", 1);
        let expected = json!({
            "role": "assistant", "content": null, "n": 1, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": {"city": "Oslo"}}}
            ]
        });
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(text.matches("role").count(), 1, "{text}");
        assert_eq!(text.matches("name").count(), 1, "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }

    #[test]
    fn text_joins_the_texts_of_the_parts() {
        let message = Message::user(vec![
            json!({"type": "text", "text": "look"}),
            json!({"type": "image_url", "image_url": {"url": "data:"}}),
            json!({"type": "text", "text": "closely"}),
        ]);
        assert_eq!(message.text(), "look\nclosely");
    }

    #[test]
    fn a_message_that_is_not_an_object_is_refused_with_the_right_shape() {
        let error = serde_json::from_value::<Message>(json!("hello")).unwrap_err();
        assert!(
            error.to_string().contains("must be an object such as"),
            "{error}"
        );
    }
}
