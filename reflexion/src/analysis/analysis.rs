use serde_json::{Map, Value};

use crate::erased::BoxError;

/// The result of the first step of a [`Reflector`](super::Reflector).
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Analysis {
    /// A sentence on the run.
    pub summary: String,
    /// Observations.
    pub key_findings: Vec<String>,
    /// Causes.
    pub root_causes: Vec<String>,
    /// Lessons that hold beyond the run.
    pub insights: Vec<String>,
    /// Next steps.
    pub suggestions: Vec<String>,
    /// Whether the judge's reply held no usable JSON. The summary is then the start of the reply.
    pub parse_error: bool,
    /// Whether there is no analysis. The summary then says why.
    pub error: bool,
    /// The other fields of the judge's reply.
    pub extra: Map<String, Value>,
}

impl Analysis {
    /// The keys that identify an analysis in a judge's reply.
    pub(crate) const KEYS: [&'static str; 5] = [
        "summary",
        "key_findings",
        "root_causes",
        "insights",
        "suggestions",
    ];

    /// An analysis with a summary.
    pub fn new(summary: impl Into<String>) -> Self {
        Self {
            summary: summary.into(),
            ..Self::default()
        }
    }
}

macro_rules! lists {
    ($($(#[$doc:meta])* $list:ident),+ $(,)?) => {
        impl Analysis {$(
            $(#[$doc])*
            #[must_use]
            pub fn $list<T: Into<String>>(mut self, items: impl IntoIterator<Item = T>) -> Self {
                self.$list = items.into_iter().map(Into::into).collect();
                self
            }
        )+}
    };
}

lists! {
    /// Sets the observations.
    key_findings,
    /// Sets the causes.
    root_causes,
    /// Sets the lessons.
    insights,
    /// Sets the next steps.
    suggestions,
}

/// A string becomes a list of one, and `null` an empty list, because models often return these.
impl From<Map<String, Value>> for Analysis {
    fn from(mut fields: Map<String, Value>) -> Self {
        Self {
            summary: text(fields.remove("summary")),
            key_findings: list(fields.remove("key_findings")),
            root_causes: list(fields.remove("root_causes")),
            insights: list(fields.remove("insights")),
            suggestions: list(fields.remove("suggestions")),
            parse_error: false,
            error: false,
            extra: fields,
        }
    }
}

fn text(value: Option<Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
    }
}

fn list(value: Option<Value>) -> Vec<String> {
    match value {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items
            .into_iter()
            .filter(|item| !item.is_null())
            .map(|item| text(Some(item)))
            .collect(),
        Some(one) => vec![text(Some(one))],
    }
}

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

/// Why a [`Reflector`](super::Reflector) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReflectError {
    /// The judge failed. The source is its own error.
    #[error("the judge failed")]
    Judge(#[source] BoxError),
    /// A step of a custom reflector failed. The source is its own error.
    #[error("a step of the reflector failed")]
    Step(#[source] BoxError),
}

impl ReflectError {
    /// An error of a step of a custom reflector.
    pub fn step(source: impl Into<BoxError>) -> Self {
        Self::Step(source.into())
    }
}
