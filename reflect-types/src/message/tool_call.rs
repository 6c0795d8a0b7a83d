use std::borrow::Cow;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};

use super::fields::{put, put_others, take_string};

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The ID that the tool's message repeats.
    pub id: Option<String>,
    /// The function and its arguments.
    pub function: FunctionCall,
    /// All other fields, such as `type`, unchanged.
    pub extra: Map<String, Value>,
}

/// The function of a tool call and its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// The name of the tool.
    pub name: String,
    /// JSON text, as in chat APIs, or a JSON value, if given.
    pub arguments: Option<Value>,
    /// All other fields, unchanged.
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

    /// The arguments as text: JSON text as it is, a value as JSON.
    pub fn arguments_text(&self) -> Cow<'_, str> {
        match &self.function.arguments {
            Some(Value::String(text)) => Cow::Borrowed(text),
            Some(value) => Cow::Owned(value.to_string()),
            None => Cow::Borrowed(""),
        }
    }

    pub(super) fn from_json(value: &Value) -> Option<Self> {
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
}

impl Serialize for ToolCall {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        put(&mut map, "id", self.id.as_ref())?;
        put(&mut map, "function", Some(&self.function))?;
        put_others(&mut map, &self.extra, |key| match key {
            "id" => self.id.is_some(),
            "function" => true,
            _ => false,
        })?;
        map.end()
    }
}

impl Serialize for FunctionCall {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        put(&mut map, "name", Some(&self.name))?;
        put(&mut map, "arguments", self.arguments.as_ref())?;
        put_others(&mut map, &self.extra, |key| match key {
            "name" => true,
            "arguments" => self.arguments.is_some(),
            _ => false,
        })?;
        map.end()
    }
}
