use serde::{Deserialize, Serialize};

use crate::neutral;
use crate::validate::{InvalidField, Validate, at_most, not_blank};

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
    /// The reflection with every text [neutral](neutral::for_prompt).
    #[must_use]
    pub fn neutral(self) -> Self {
        self.map(|text| neutral::for_prompt(text).into_owned())
    }

    /// The reflection with every text in at most [`AuthoredReflection::MAX_TEXT`] characters.
    #[must_use]
    pub(crate) fn bounded(self) -> Self {
        self.map(|text| neutral::excerpt(text, AuthoredReflection::MAX_TEXT).into_owned())
    }

    fn map(self, each: impl Fn(&str) -> String) -> Self {
        let all = |texts: Vec<String>| texts.iter().map(|text| each(text)).collect();
        Self {
            feedback: each(&self.feedback),
            summary: each(&self.summary),
            key_mistake: each(&self.key_mistake),
            correct_action: each(&self.correct_action),
            guidance: each(&self.guidance),
            applicable_tools: all(self.applicable_tools),
            tools_used: all(self.tools_used),
            written_by: each(&self.written_by),
        }
    }

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
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 8192, pattern = "\\S")
    )]
    pub summary: Option<String>,
    /// What to do next time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 8192, pattern = "\\S")
    )]
    pub guidance: Option<String>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 8192))]
    pub key_mistake: Option<String>,
    /// What would have been right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(max_length = 8192))]
    pub correct_action: Option<String>,
    /// The tools the advice is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_tools))]
    pub applicable_tools: Option<Vec<String>>,
}

impl ReflectionEdit {
    /// The edit with every text [neutral](neutral::for_prompt).
    #[must_use]
    pub fn neutral(self) -> Self {
        let text = |text: String| neutral::for_prompt(&text).into_owned();
        Self {
            summary: self.summary.map(text),
            guidance: self.guidance.map(text),
            key_mistake: self.key_mistake.map(text),
            correct_action: self.correct_action.map(text),
            applicable_tools: self
                .applicable_tools
                .map(|tools| tools.into_iter().map(text).collect()),
        }
    }

    /// Whether each of the fields is as in a reflection, or that one has been edited to what `edit` sets.
    pub fn is_known(&self, reflection: &Reflection, edit: Option<&Self>) -> bool {
        fn same<T: PartialEq>(known: Option<&T>, said: &T, edit: Option<&T>) -> bool {
            known.is_none_or(|known| known == said) || edit == Some(said)
        }
        let none = Self::default();
        let (said, edit) = (reflection, edit.unwrap_or(&none));
        let tools = (
            self.applicable_tools.as_ref(),
            edit.applicable_tools.as_ref(),
        );
        [
            (&self.summary, &said.summary, &edit.summary),
            (&self.guidance, &said.guidance, &edit.guidance),
            (&self.key_mistake, &said.key_mistake, &edit.key_mistake),
            (
                &self.correct_action,
                &said.correct_action,
                &edit.correct_action,
            ),
        ]
        .into_iter()
        .all(|(known, said, edit)| same(known.as_ref(), said, edit.as_ref()))
            && same(tools.0, &said.applicable_tools, tools.1)
    }

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
        self.filled().validate()
    }
}

impl ReflectionEdit {
    /// Checks what a caller [knows](Self::is_known) of a reflection, which may have blank texts.
    pub(crate) fn validate_known(&self) -> Result<(), InvalidField> {
        if *self == Self::default() {
            let problem = "has no field: leave it out, or say what `summary`, `guidance`, `key_mistake`, \
                           `correct_action` or `applicable_tools` was";
            return Err(InvalidField::new("known", problem));
        }
        self.filled().check_lengths()
    }

    /// An authored reflection, whose rules an edit follows, with the missing fields filled in.
    fn filled(&self) -> AuthoredReflection {
        let or_placeholder = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        AuthoredReflection {
            summary: or_placeholder(&self.summary),
            guidance: or_placeholder(&self.guidance),
            key_mistake: or_placeholder(&self.key_mistake),
            correct_action: or_placeholder(&self.correct_action),
            applicable_tools: self.applicable_tools.clone().unwrap_or_default(),
        }
    }
}

/// A reflection written by the caller. The memory has it with [neutral](crate::neutral) texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AuthoredReflection {
    /// A summary of the run.
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 8192, pattern = "\\S")
    )]
    pub summary: String,
    /// What to do next time.
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 8192, pattern = "\\S")
    )]
    pub guidance: String,
    /// What went wrong.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_length = 8192))]
    pub key_mistake: String,
    /// What would have been right.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_length = 8192))]
    pub correct_action: String,
    /// The tools the advice is about, each of at most 200 characters.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::tools))]
    pub applicable_tools: Vec<String>,
}

impl AuthoredReflection {
    /// The maximum length of each text, in characters.
    pub const MAX_TEXT: usize = 8_192;
    /// The maximum number of tools.
    pub const MAX_TOOLS: usize = 100;
    /// The maximum length of the name of a tool, in characters.
    pub const MAX_TOOL_NAME: usize = 200;
}

impl Validate for AuthoredReflection {
    fn validate(&self) -> Result<(), InvalidField> {
        not_blank("summary", &self.summary, "say in short what was learned")?;
        not_blank("guidance", &self.guidance, "say what to do next time")?;
        self.check_lengths()
    }
}

impl AuthoredReflection {
    fn check_lengths(&self) -> Result<(), InvalidField> {
        for (field, text) in [
            ("summary", &self.summary),
            ("guidance", &self.guidance),
            ("key_mistake", &self.key_mistake),
            ("correct_action", &self.correct_action),
        ] {
            at_most(field, text, Self::MAX_TEXT)?;
        }
        let tools = &self.applicable_tools;
        if tools.len() > Self::MAX_TOOLS {
            let most = Self::MAX_TOOLS;
            let problem = format!("must have at most {most} tools, got {}", tools.len());
            return Err(InvalidField::new("applicable_tools", problem));
        }
        let mut names = tools.iter();
        names.try_for_each(|name| at_most("applicable_tools", name, Self::MAX_TOOL_NAME))
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
