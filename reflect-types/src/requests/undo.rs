use serde::{Deserialize, Serialize};

use crate::id::{KeyId, TraceId};
use crate::layout::Layout;
use crate::reviewer::Reviewer;
use crate::validate::{InvalidField, Validate};

/// Takes back what was taught, and edits, quarantines and restorations of memories, which no reviewer
/// and no trace has caused. Every condition that is set must hold, and one must be set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Undo {
    /// What this API key has taught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_id))]
    pub key_id: Option<KeyId>,
    /// What this reviewer has taught.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reviewer: Option<Reviewer>,
    /// What was taught by the reviews of this trace, which may have been deleted since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_id))]
    pub trace_id: Option<TraceId>,
    /// What was taught at this time or later, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_time))]
    pub since: Option<String>,
    /// What was taught before this time, in RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_time))]
    pub until: Option<String>,
    /// Whether to report what would change, and change nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

impl Validate for Undo {
    fn validate(&self) -> Result<(), InvalidField> {
        let named = self.key_id.is_some()
            || self.reviewer.is_some()
            || self.trace_id.is_some()
            || self.since.is_some()
            || self.until.is_some();
        if !named {
            let problem =
                "or `reviewer`, `trace_id`, `since` or `until` is needed: say what to undo";
            return Err(InvalidField::new("key_id", problem));
        }
        self.key_id.as_ref().map_or(Ok(()), Validate::validate)?;
        self.trace_id.as_ref().map_or(Ok(()), Validate::validate)?;
        self.reviewer.as_ref().map_or(Ok(()), Validate::validate)
    }
}

impl Layout for Undo {
    fn body(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_undo_of_nothing_in_particular_is_refused() {
        let undo = Undo {
            dry_run: true,
            ..Undo::default()
        };
        assert_eq!(undo.validate().unwrap_err().field, "key_id");
    }
}
