use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What a reflector is told about a run: `input`, `output`, `error`, `iteration` and more.
///
/// A value of `null` is the same as no value; an empty string is a value.
///
/// ```
/// use reflect_sdk::reflection::ReflectionContext;
///
/// let context = ReflectionContext::new()
///     .input("Sum the invoices")
///     .output("41")
///     .error("expected 42")
///     .iteration(2)
///     .with("model", "small");
/// assert_eq!(context.get("iteration").unwrap(), 2);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReflectionContext(Map<String, Value>);

impl ReflectionContext {
    /// An empty context.
    pub fn new() -> Self {
        Self::default()
    }

    /// What the agent was asked.
    #[must_use]
    pub fn input(self, value: impl Into<Value>) -> Self {
        self.with("input", value)
    }

    /// What the agent answered.
    #[must_use]
    pub fn output(self, value: impl Into<Value>) -> Self {
        self.with("output", value)
    }

    /// What was wrong.
    #[must_use]
    pub fn error(self, value: impl Into<Value>) -> Self {
        self.with("error", value)
    }

    /// Which attempt it was.
    #[must_use]
    pub fn iteration(self, value: impl Into<Value>) -> Self {
        self.with("iteration", value)
    }

    /// Adds anything else; a reflector of your own may read it.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// The value of a key; `None` where it is absent or `null`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// The value of a key as text: a string as it is, anything else as compact JSON.
    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key).map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        })
    }
}

impl From<Map<String, Value>> for ReflectionContext {
    fn from(fields: Map<String, Value>) -> Self {
        Self(fields)
    }
}

/// An object is taken as it is; any other value becomes the `input`.
impl From<Value> for ReflectionContext {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(fields) => Self(fields),
            other => Self::new().input(other),
        }
    }
}
