use serde_json::{Map, Value};

/// What the first step of a reflection finds.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Analysis {
    /// The run in a sentence.
    pub summary: String,
    /// What was seen.
    pub key_findings: Vec<String>,
    /// Why it went as it did.
    pub root_causes: Vec<String>,
    /// What there is to learn.
    pub insights: Vec<String>,
    /// What to do next time.
    pub suggestions: Vec<String>,
    /// Whether the judge's reply held no usable JSON, so that `summary` is just its beginning.
    pub parse_error: bool,
    /// Whether there was no analysis at all, so that `summary` says why.
    pub error: bool,
    /// The fields of the judge's reply that have no name here.
    pub extra: Map<String, Value>,
}

impl Analysis {
    /// The keys by which a judge's reply is recognised.
    pub(crate) const KEYS: [&'static str; 5] = [
        "summary",
        "key_findings",
        "root_causes",
        "insights",
        "suggestions",
    ];

    /// An analysis with a summary and nothing else.
    pub fn new(summary: impl Into<String>) -> Self {
        Self {
            summary: summary.into(),
            ..Self::default()
        }
    }

    /// Sets what was seen.
    #[must_use]
    pub fn key_findings<T: Into<String>>(mut self, items: impl IntoIterator<Item = T>) -> Self {
        self.key_findings = items.into_iter().map(Into::into).collect();
        self
    }

    /// Sets why it went as it did.
    #[must_use]
    pub fn root_causes<T: Into<String>>(mut self, items: impl IntoIterator<Item = T>) -> Self {
        self.root_causes = items.into_iter().map(Into::into).collect();
        self
    }

    /// Sets what there is to learn.
    #[must_use]
    pub fn insights<T: Into<String>>(mut self, items: impl IntoIterator<Item = T>) -> Self {
        self.insights = items.into_iter().map(Into::into).collect();
        self
    }

    /// Sets what to do next time.
    #[must_use]
    pub fn suggestions<T: Into<String>>(mut self, items: impl IntoIterator<Item = T>) -> Self {
        self.suggestions = items.into_iter().map(Into::into).collect();
        self
    }
}

/// Models often give a string where a list is due, or `null`; both are made usable.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: Value) -> Analysis {
        match value {
            Value::Object(fields) => fields.into(),
            other => panic!("{other} is no object"),
        }
    }

    // Row 44.
    #[test]
    fn values_of_the_wrong_type_become_usable() {
        let analysis = read(json!({
            "summary": null,
            "key_findings": "only one",
            "root_causes": null,
            "insights": [1, {"a": [true]}, null, "plain"],
            "suggestions": {"first": "retry"},
        }));
        assert_eq!(analysis.summary, "");
        assert_eq!(analysis.key_findings, ["only one"]);
        assert!(analysis.root_causes.is_empty());
        assert_eq!(analysis.insights, ["1", r#"{"a":[true]}"#, "plain"]);
        assert_eq!(analysis.suggestions, [r#"{"first":"retry"}"#]);
        assert_eq!(read(json!({"summary": 7})).summary, "7");
    }

    #[test]
    fn fields_without_a_name_here_are_kept() {
        let analysis = read(json!({"summary": "s", "confidence": 0.9}));
        assert_eq!(analysis.extra["confidence"], 0.9);
    }
}
