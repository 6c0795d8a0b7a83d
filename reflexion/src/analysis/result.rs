use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{ReflectionLevel, ReflectionType};

/// What a reflection came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReflectionResult {
    /// What it is about.
    pub reflection_type: ReflectionType,
    /// How deep it goes.
    pub level: ReflectionLevel,
    /// The run in a sentence.
    pub summary: String,
    /// What was seen.
    #[serde(default)]
    pub key_findings: Vec<String>,
    /// Why it went as it did.
    #[serde(default)]
    pub root_causes: Vec<String>,
    /// What there is to learn.
    #[serde(default)]
    pub insights: Vec<String>,
    /// What to do next time.
    #[serde(default)]
    pub suggestions: Vec<String>,
    /// The reflector's name, and the flags `parse_error` and `error` where they are true.
    #[serde(default)]
    pub metadata: Map<String, Value>,
}

impl ReflectionResult {
    /// A result with a summary and nothing else.
    pub fn new(
        reflection_type: ReflectionType,
        level: ReflectionLevel,
        summary: impl Into<String>,
    ) -> Self {
        Self {
            reflection_type,
            level,
            summary: summary.into(),
            key_findings: Vec::new(),
            root_causes: Vec::new(),
            insights: Vec::new(),
            suggestions: Vec::new(),
            metadata: Map::new(),
        }
    }

    /// Whether the judge's reply held no usable JSON.
    pub fn parse_error(&self) -> bool {
        self.flag("parse_error")
    }

    /// Whether there was no analysis at all.
    pub fn is_error(&self) -> bool {
        self.flag("error")
    }

    fn flag(&self, name: &str) -> bool {
        self.metadata.get(name) == Some(&Value::Bool(true))
    }
}
