use serde::{Deserialize, Serialize};

use crate::validate::{InvalidField, Validate, not_blank};

/// What a run taught.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Reflection {
    /// The reviewer's words, whole up to a limit and in their order.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub feedback: String,
    /// A summary of the run.
    pub summary: String,
    /// What went wrong, if anything.
    pub key_mistake: String,
    /// What would have been right.
    pub correct_action: String,
    /// What to do next time.
    pub guidance: String,
    /// The tools the advice is about.
    pub applicable_tools: Vec<String>,
    /// The tools the run used.
    pub tools_used: Vec<String>,
    /// The writer of the reflection, such as `extractive` or `llm:gpt-5.4-mini`; empty if its author
    /// is a caller or unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub written_by: String,
}

impl Reflection {
    /// The reflection as one text, the reviewer's words first.
    pub fn text(&self) -> String {
        let right = match self.key_mistake.as_str() {
            "" => "Correct action: ",
            _ => "Instead: ",
        };
        let lines = [
            ("Reviewer: ", &self.feedback),
            ("", &self.summary),
            ("Mistake: ", &self.key_mistake),
            (right, &self.correct_action),
            ("Next time: ", &self.guidance),
        ];
        let lines = lines.iter().filter(|(_, text)| !text.is_empty());
        lines
            .map(|(label, text)| format!("{label}{text}"))
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl From<AuthoredReflection> for Reflection {
    fn from(authored: AuthoredReflection) -> Self {
        Self {
            summary: authored.summary,
            key_mistake: authored.key_mistake,
            correct_action: authored.correct_action,
            guidance: authored.guidance,
            applicable_tools: authored.applicable_tools,
            ..Self::default()
        }
    }
}

/// The fields of a reflection to set. What is not set stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReflectionEdit {
    /// A summary of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, pattern = "\\S"))]
    pub summary: Option<String>,
    /// What to do next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, pattern = "\\S"))]
    pub guidance: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_mistake: Option<String>,
    /// What would have been right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correct_action: Option<String>,
    /// The tools the advice is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applicable_tools: Option<Vec<String>>,
}

impl ReflectionEdit {
    /// Sets the fields of a reflection.
    pub fn apply(&self, to: &mut Reflection) {
        fn set<T: Clone>(to: &mut T, value: Option<&T>) {
            if let Some(value) = value {
                to.clone_from(value);
            }
        }
        set(&mut to.summary, self.summary.as_ref());
        set(&mut to.guidance, self.guidance.as_ref());
        set(&mut to.key_mistake, self.key_mistake.as_ref());
        set(&mut to.correct_action, self.correct_action.as_ref());
        set(&mut to.applicable_tools, self.applicable_tools.as_ref());
    }
}

impl Validate for ReflectionEdit {
    fn validate(&self) -> Result<(), InvalidField> {
        if *self == Self::default() {
            let problem = "sets no field: set `summary`, `guidance`, `key_mistake`, \
                           `correct_action` or `applicable_tools`";
            return Err(InvalidField::new("reflection", problem));
        }
        // The rules are those of an authored reflection, of which the missing fields are well.
        let or_well = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let authored = AuthoredReflection {
            summary: or_well(&self.summary),
            guidance: or_well(&self.guidance),
            key_mistake: or_well(&self.key_mistake),
            correct_action: or_well(&self.correct_action),
            applicable_tools: self.applicable_tools.clone().unwrap_or_default(),
        };
        authored.validate()
    }
}

/// A reflection written by the caller, stored as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuthoredReflection {
    /// A summary of the run.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, pattern = "\\S"))]
    pub summary: String,
    /// What to do next time.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, pattern = "\\S"))]
    pub guidance: String,
    /// What went wrong.
    #[serde(default)]
    pub key_mistake: String,
    /// What would have been right.
    #[serde(default)]
    pub correct_action: String,
    /// The tools the advice is about.
    #[serde(default)]
    pub applicable_tools: Vec<String>,
}

impl Validate for AuthoredReflection {
    fn validate(&self) -> Result<(), InvalidField> {
        not_blank("summary", &self.summary, "say in short what was learned")?;
        not_blank("guidance", &self.guidance, "say what to do next time")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_the_newer_fields_is_read_and_written_as_before() {
        let old = r#"{"summary":"s","key_mistake":"k","correct_action":"c","guidance":"g","applicable_tools":[],"tools_used":["t"]}"#;
        let reflection: Reflection = serde_json::from_str(old).unwrap();
        assert_eq!(reflection.feedback, "");
        assert_eq!(serde_json::to_string(&reflection).unwrap(), old);
        assert_eq!(reflection.text(), "s\nMistake: k\nInstead: c\nNext time: g");
    }

    #[test]
    fn the_reviewers_words_come_first() {
        let reflection = Reflection {
            feedback: "The topic is refunds.".into(),
            summary: "Failed: answered \"cards\".".into(),
            ..Reflection::default()
        };
        assert_eq!(
            reflection.text(),
            "Reviewer: The topic is refunds.\nFailed: answered \"cards\"."
        );
    }
}
