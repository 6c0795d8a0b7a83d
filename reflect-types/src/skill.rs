use serde::{Deserialize, Serialize};

use crate::id::MemoryId;
use crate::integer;

/// A guide condensed from a project's memories.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Skill {
    /// The guide: YAML front matter, then markdown.
    pub content: String,
    /// Counts up with each version.
    #[serde(default, deserialize_with = "integer::read")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub version: u64,
    /// When this version was written, in RFC 3339.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_time))]
    pub created_at: Option<String>,
    /// The memories it was written from.
    #[serde(default)]
    pub source_memory_ids: Vec<MemoryId>,
}
