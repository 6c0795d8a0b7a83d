use std::borrow::Cow;

use serde_json::{Map, Value};

use super::fields::take_string;

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

    pub(super) fn into_json(self) -> Value {
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
