//! Who gives a review.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::validate::{InvalidField, Validate, at_most, not_blank, without_controls};
use crate::verdict::Verdict;

/// Who gives a review: `"human"`, or `{"model": "gpt-5.4-mini"}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reviewer {
    /// A person, or code acting for one.
    #[default]
    Human,
    /// The model of this name.
    Model(String),
    /// A kind newer than this version. It is read, and never sent.
    Unknown,
}

impl Reviewer {
    /// The longest name of a model, in characters.
    pub const MAX_NAME: usize = 100;

    /// A model. The name is trimmed, shortened to [`MAX_NAME`](Self::MAX_NAME) and stripped of
    /// control characters; an empty one becomes `model`.
    pub fn model(name: &str) -> Self {
        let clean = name.trim().chars().filter(|c| !c.is_control());
        let name: String = clean.take(Self::MAX_NAME).collect();
        let name = name.trim();
        Self::Model(if name.is_empty() { "model" } else { name }.to_owned())
    }

    /// The model's name; `None` if the reviewer is not a model.
    pub fn model_name(&self) -> Option<&str> {
        match self {
            Self::Model(name) => Some(name),
            Self::Human | Self::Unknown => None,
        }
    }
}

impl Validate for Reviewer {
    fn validate(&self) -> Result<(), InvalidField> {
        match self {
            Self::Human => Ok(()),
            Self::Model(name) => {
                not_blank("reviewer", name, "name the model")?;
                at_most("reviewer", name, Self::MAX_NAME)?;
                without_controls("reviewer", name)
            }
            Self::Unknown => Err(InvalidField::new(
                "reviewer",
                "must be `\"human\"` or `{\"model\": \"<name>\"}`",
            )),
        }
    }
}

impl Serialize for Reviewer {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Human => to.serialize_str("human"),
            Self::Model(name) => to.serialize_newtype_variant("Reviewer", 1, "model", name),
            Self::Unknown => to.serialize_str("unknown"),
        }
    }
}

impl<'de> Deserialize<'de> for Reviewer {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // Any value is read: a newer version may know other kinds, with other contents.
        Ok(match Value::deserialize(from)? {
            Value::String(kind) if kind == "human" => Self::Human,
            Value::Object(mut kind) if kind.len() == 1 => match kind.remove("model") {
                Some(Value::String(name)) => Self::Model(name),
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        })
    }
}

/// A model's verdict that was withdrawn or overruled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelVerdict {
    /// The model.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::model_name))]
    pub model: String,
    /// Its verdict.
    pub result: Verdict,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_str, json, to_value};

    use super::*;

    #[test]
    fn reviewers_are_tagged_and_those_of_tomorrow_are_read() {
        for (reviewer, wire) in [
            (Reviewer::Human, json!("human")),
            (Reviewer::Model("m".to_owned()), json!({"model": "m"})),
        ] {
            assert_eq!(to_value(&reviewer).unwrap(), wire);
            assert_eq!(serde_json::from_value::<Reviewer>(wire).unwrap(), reviewer);
        }
        for wire in [
            r#""committee""#,
            r#"{"committee": ["a"]}"#,
            r#"{"model": {"name": "m"}}"#,
            "7",
        ] {
            let reviewer: Reviewer = from_str(wire).unwrap();
            assert_eq!(reviewer, Reviewer::Unknown, "{wire}");
            assert_eq!(reviewer.validate().unwrap_err().field, "reviewer");
        }
    }

    #[test]
    fn the_name_of_a_model_is_made_fit_to_send() {
        assert_eq!(Reviewer::model(" gpt 5\n"), Reviewer::Model("gpt 5".into()));
        assert_eq!(Reviewer::model("\n"), Reviewer::Model("model".into()));
        assert!(Reviewer::model(&"x ".repeat(500)).validate().is_ok());
        for name in ["", " ", "a\nb", &"x".repeat(101)] {
            assert!(Reviewer::Model(name.to_owned()).validate().is_err());
        }
    }
}
