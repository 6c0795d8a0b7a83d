use serde::{Deserialize, Serialize};

use super::shapes::{sent_as_json, without_parts};
use crate::integer;
use crate::validate::{InvalidField, Validate};

without_parts! {
    /// Reads the skill.
    GetSkill;
}

/// Writes a new version of the skill.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateSkill {
    /// The number of memories of passed runs to read.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "integer::read_optional"
    )]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub n_passed: Option<u32>,
    /// The number of memories of failed runs to read.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "integer::read_optional"
    )]
    #[cfg_attr(feature = "openapi", schema(maximum = 100))]
    pub n_failed: Option<u32>,
}

impl CreateSkill {
    /// The default number of memories of each kind.
    pub const DEFAULT_SAMPLE: u32 = 5;
    /// The maximum number of memories of each kind.
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

sent_as_json!(CreateSkill);
