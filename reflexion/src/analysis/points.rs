use serde_json::{Map, Value};

/// The result of the second and third step of a [`Reflector`](super::Reflector): a list of texts,
/// and extra fields for the result.
///
/// A list of texts converts into points without extra fields.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Points {
    /// The texts.
    pub items: Vec<String>,
    /// The fields for [`ReflectionResult::extra`](super::ReflectionResult::extra).
    pub extra: Map<String, Value>,
}

impl Points {
    /// Points with these texts.
    pub fn new<T: Into<String>>(items: impl IntoIterator<Item = T>) -> Self {
        Self {
            items: items.into_iter().map(Into::into).collect(),
            extra: Map::new(),
        }
    }

    /// Sets an extra field.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(key.into(), value.into());
        self
    }
}

impl<T: Into<String>> From<Vec<T>> for Points {
    fn from(items: Vec<T>) -> Self {
        Self::new(items)
    }
}
