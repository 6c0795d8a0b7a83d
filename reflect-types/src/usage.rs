use serde::{Deserialize, Serialize};

use crate::integer;
use crate::validate::{InvalidField, Validate};

/// The tokens of a run: those of all its calls of models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// What models read, cached tokens included.
    #[serde(default, deserialize_with = "integer::read")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000_000_000_u64))]
    pub input_tokens: u64,
    /// What models wrote.
    #[serde(default, deserialize_with = "integer::read")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000_000_000_u64))]
    pub output_tokens: u64,
}

impl Usage {
    /// The most tokens of either kind. The sums of millions of runs can be stored.
    pub const MAX: u64 = 1_000_000_000_000;

    /// These tokens.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
        }
    }
}

impl Validate for Usage {
    fn validate(&self) -> Result<(), InvalidField> {
        for (field, tokens) in [
            ("usage.input_tokens", self.input_tokens),
            ("usage.output_tokens", self.output_tokens),
        ] {
            if tokens > Self::MAX {
                let problem = format!("must be at most {}, got {tokens}", Self::MAX);
                return Err(InvalidField::new(field, problem));
            }
        }
        Ok(())
    }
}
