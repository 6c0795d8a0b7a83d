use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The input of a [`Reflector`](super::Reflector): `input`, `output`, `error`, `iteration` and more.
///
/// `null` is the same as no value; an empty string is a value.
///
/// ```
/// use reflexion::analysis::ReflectionContext;
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

    /// Sets the task of the agent.
    #[must_use]
    pub fn input(self, value: impl Into<Value>) -> Self {
        self.with("input", value)
    }

    /// Sets the answer of the agent.
    #[must_use]
    pub fn output(self, value: impl Into<Value>) -> Self {
        self.with("output", value)
    }

    /// Sets what was wrong.
    #[must_use]
    pub fn error(self, value: impl Into<Value>) -> Self {
        self.with("error", value)
    }

    /// Sets the number of the attempt.
    #[must_use]
    pub fn iteration(self, value: impl Into<Value>) -> Self {
        self.with("iteration", value)
    }

    /// Sets any other value, for reflectors that read it.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.0.insert(key.into(), value.into());
        self
    }

    /// The value of a key; `None` if it is absent or `null`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    /// The value of a key as text: a string itself, any other value as compact JSON.
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

/// An object is the context; any other value is its `input`.
impl From<Value> for ReflectionContext {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(fields) => Self(fields),
            other => Self::new().input(other),
        }
    }
}
