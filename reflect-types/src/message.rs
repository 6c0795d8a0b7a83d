use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::wire_enum::wire_enum;

wire_enum! {
    /// Who speaks in a message.
    pub enum Role {
        /// The rules.
        System = "system",
        /// The rules, by their newer name.
        Developer = "developer",
        /// The person, or whoever gave the task.
        User = "user",
        /// The agent.
        Assistant = "assistant",
        /// A tool's answer.
        Tool = "tool",
    }
}

/// One step of a run, in the shape that chat APIs share.
///
/// Any JSON object can be read as a message and is written back as it came: what does not fit a
/// field stays in [`extra`](Self::extra).
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
    /// Who speaks; `None` where the message does not say.
    pub role: Option<Role>,
    /// What is said; `None` where the message has no such field.
    pub content: Option<Content>,
    /// The tools the agent calls.
    pub tool_calls: Option<Vec<ToolCall>>,
    /// The call that a tool's message answers.
    pub tool_call_id: Option<String>,
    /// The tool's or the speaker's name.
    pub name: Option<String>,
    /// Everything else, as it came.
    pub extra: Map<String, Value>,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Parts: text, images and whatever else a provider knows.
    Parts(Vec<Value>),
    /// An explicit `null`, as in a message that only calls tools.
    Null,
}

impl Message {
    /// A message of the given role.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role: Some(role),
            content: Some(content.into()),
            ..Self::empty()
        }
    }

    /// The rules the agent works under.
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Role::System, content)
    }

    /// What the agent was asked.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the agent said.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// The agent calling tools, without saying anything.
    pub fn tool_calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let calls = calls.into_iter().collect();
        Self {
            tool_calls: Some(calls),
            ..Self::new(Role::Assistant, Content::Null)
        }
    }

    /// What a tool answered to the call `id`.
    pub fn tool(id: impl Into<String>, content: impl Into<Content>) -> Self {
        Self {
            tool_call_id: Some(id.into()),
            ..Self::new(Role::Tool, content)
        }
    }

    /// Names the speaker or the tool.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds a field that this version has no name for.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(key.into(), value.into());
        self
    }

    /// The text of the message: its parts' texts joined by newlines, `""` where it has none.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.content {
            Some(Content::Text(text)) => Cow::Borrowed(text),
            Some(Content::Parts(parts)) => {
                let texts: Vec<&str> = parts.iter().filter_map(part_text).collect();
                Cow::Owned(texts.join("\n"))
            }
            Some(Content::Null) | None => Cow::Borrowed(""),
        }
    }

    /// The tools the agent calls; empty where it calls none.
    pub fn calls(&self) -> &[ToolCall] {
        self.tool_calls.as_deref().unwrap_or_default()
    }

    /// Whether the message is of this role.
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

impl From<Message> for Map<String, Value> {
    fn from(message: Message) -> Self {
        let mut fields = message.extra;
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(key.to_owned(), value);
            }
        };
        put("role", message.role.map(|role| role.as_str().into()));
        put("content", message.content.map(Content::into_json));
        put(
            "tool_calls",
            message
                .tool_calls
                .map(|calls| calls.into_iter().map(ToolCall::into_json).collect()),
        );
        put("tool_call_id", message.tool_call_id.map(Value::from));
        put("name", message.name.map(Value::from));
        fields
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Map::from(self.clone()).serialize(to)
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

impl Content {
    fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Array(parts) => Some(Self::Parts(parts.clone())),
            Value::Null => Some(Self::Null),
            _ => None,
        }
    }

    fn into_json(self) -> Value {
        match self {
            Self::Text(text) => text.into(),
            Self::Parts(parts) => parts.into(),
            Self::Null => Value::Null,
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&String> for Content {
    fn from(text: &String) -> Self {
        Self::Text(text.clone())
    }
}

impl From<Cow<'_, str>> for Content {
    fn from(text: Cow<'_, str>) -> Self {
        Self::Text(text.into_owned())
    }
}

impl From<Vec<Value>> for Content {
    fn from(parts: Vec<Value>) -> Self {
        Self::Parts(parts)
    }
}

/// A tool that the agent calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// Ties the tool's answer to the call.
    pub id: Option<String>,
    /// What is called, and with what.
    pub function: FunctionCall,
    /// Everything else, `type` included, as it came.
    pub extra: Map<String, Value>,
}

/// What a tool call calls, and with what.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// The tool.
    pub name: String,
    /// JSON text, as chat APIs send it, or the value itself; `None` where there is none.
    pub arguments: Option<Value>,
    /// Everything else, as it came.
    pub extra: Map<String, Value>,
}

impl ToolCall {
    /// A call of the function `name`; `arguments` are JSON text or a JSON value.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> Self {
        let mut extra = Map::new();
        extra.insert("type".to_owned(), "function".into());
        Self {
            id: Some(id.into()),
            function: FunctionCall {
                name: name.into(),
                arguments: Some(arguments.into()),
                extra: Map::new(),
            },
            extra,
        }
    }

    /// The arguments as a person reads them: JSON text without the quotes around it.
    pub fn arguments_text(&self) -> Cow<'_, str> {
        match &self.function.arguments {
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(value) => Cow::Owned(value.to_string()),
            None => Cow::Borrowed(""),
        }
    }

    fn from_json(value: &Value) -> Option<Self> {
        let mut fields = value.as_object()?.clone();
        let mut function = fields.get("function")?.as_object()?.clone();
        let name = take_string(&mut function, "name")?;
        fields.remove("function");
        Some(Self {
            id: take_string(&mut fields, "id"),
            function: FunctionCall {
                name,
                arguments: function.remove("arguments"),
                extra: function,
            },
            extra: fields,
        })
    }

    fn into_json(self) -> Value {
        let FunctionCall {
            name,
            arguments,
            extra: mut function,
        } = self.function;
        function.insert("name".to_owned(), name.into());
        if let Some(arguments) = arguments {
            function.insert("arguments".to_owned(), arguments);
        }
        let mut fields = self.extra;
        fields.insert("function".to_owned(), function.into());
        if let Some(id) = self.id {
            fields.insert("id".to_owned(), id.into());
        }
        fields.into()
    }
}

/// Takes a field out of the object if it has the expected shape, and leaves it there if not.
fn take<T>(
    fields: &mut Map<String, Value>,
    key: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Option<T> {
    let read = read(fields.get(key)?)?;
    fields.remove(key);
    Some(read)
}

fn take_string(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    take(fields, key, |value| value.as_str().map(str::to_owned))
}

fn part_text(part: &Value) -> Option<&str> {
    let text = part.as_str().or_else(|| part.get("text")?.as_str())?;
    (!text.is_empty()).then_some(text)
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
    fn what_does_not_fit_a_field_stays_as_it_came() {
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
    fn text_joins_the_parts_that_have_any() {
        let message = Message::user(vec![
            json!({"type": "text", "text": "look"}),
            json!({"type": "image_url", "image_url": {"url": "data:"}}),
            json!({"type": "text", "text": "closely"}),
        ]);
        assert_eq!(message.text(), "look\nclosely");
    }

    #[test]
    fn a_message_that_is_no_object_is_refused_with_the_right_shape() {
        let error = serde_json::from_value::<Message>(json!("hello")).unwrap_err();
        assert!(
            error.to_string().contains("must be an object such as"),
            "{error}"
        );
    }
}
