use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The content of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Parts: texts, images and other kinds of a provider.
    Parts(Vec<Value>),
    /// An explicit `null`, as in a message that only calls tools.
    Null,
}

impl Content {
    /// The text: the texts of its parts joined by newlines, or `""`.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Parts(parts) => {
                let texts: Vec<&str> = parts.iter().filter_map(part_text).collect();
                Cow::Owned(texts.join("\n"))
            }
            Self::Null => Cow::Borrowed(""),
        }
    }

    pub(super) fn from_json(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Array(parts) => Some(Self::Parts(parts.clone())),
            Value::Null => Some(Self::Null),
            _ => None,
        }
    }
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => text.serialize(to),
            Self::Parts(parts) => parts.serialize(to),
            Self::Null => to.serialize_unit(),
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

fn part_text(part: &Value) -> Option<&str> {
    let text = part.as_str().or_else(|| part.get("text")?.as_str())?;
    (!text.is_empty()).then_some(text)
}
