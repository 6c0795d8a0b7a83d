use serde::{Deserialize, Serialize};

use crate::archive::Piece;
use crate::id::ProjectId;

/// The first line of an exported file: JSON lines with a heading, the pieces of a project and an ending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename = "bundle")]
pub struct BundleHeading {
    /// The version of the format.
    pub version: u32,
    /// The exported project.
    pub project: ProjectId,
    /// When it was exported, in RFC 3339.
    pub created_at: Option<String>,
}

impl BundleHeading {
    /// The version that this crate describes.
    pub const VERSION: u32 = 1;

    /// The heading of an export at this time.
    pub fn new(project: ProjectId, created_at: String) -> Self {
        Self {
            version: Self::VERSION,
            project,
            created_at: Some(created_at),
        }
    }
}

/// The last line of an exported file, which shows that it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BundleEnding {
    /// The numbers of its pieces.
    End(BundleCounts),
}

/// The pieces of an exported file by their kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleCounts {
    /// Memories.
    pub memories: u64,
    /// Traces.
    pub traces: u64,
    /// Skills.
    pub skills: u64,
    /// Records of undos.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub undos: u64,
}

impl BundleCounts {
    /// Counts a piece.
    pub fn count(&mut self, piece: &Piece) {
        match piece {
            Piece::Memory(_) => self.memories += 1,
            Piece::Trace(_) => self.traces += 1,
            Piece::Skill(_) => self.skills += 1,
            Piece::Undo(_) => self.undos += 1,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
