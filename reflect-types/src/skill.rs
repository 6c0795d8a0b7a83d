use serde::{Deserialize, Serialize};

use crate::id::MemoryId;
use crate::validate::{InvalidField, Validate};

/// A project's memories condensed into one guide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Skill {
    /// The guide: YAML front matter, then markdown.
    pub content: String,
    /// Counts up each time the guide is written anew.
    #[serde(default)]
    pub version: u64,
    /// When this version was written, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<String>,
    /// The memories it was written from.
    #[serde(default)]
    pub source_memory_ids: Vec<MemoryId>,
}

/// Asks for the skill to be written anew.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateSkill {
    /// How many memories of passed runs to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub n_passed: Option<u32>,
    /// How many memories of failed runs to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub n_failed: Option<u32>,
}

impl CreateSkill {
    /// How many memories of each kind are read when the request does not say.
    pub const DEFAULT_SAMPLE: u32 = 5;
    /// The most memories of one kind that are read.
    pub const MAX_SAMPLE: u32 = 100;
}

impl Validate for CreateSkill {
    fn validate(&self) -> Result<(), InvalidField> {
        let sample = |field, asked: Option<u32>| match asked {
            Some(n) if n > Self::MAX_SAMPLE => Err(InvalidField::new(
                field,
                format!("must be at most {}, got {n}", Self::MAX_SAMPLE),
            )),
            _ => Ok(()),
        };
        sample("n_passed", self.n_passed)?;
        sample("n_failed", self.n_failed)?;
        if self.n_passed == Some(0) && self.n_failed == Some(0) {
            return Err(InvalidField::new(
                "n_passed",
                "and `n_failed` are both 0: a skill needs memories to read, leave one out",
            ));
        }
        Ok(())
    }
}
