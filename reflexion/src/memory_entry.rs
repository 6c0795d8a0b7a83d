use serde::{Deserialize, Serialize};

/// The reflection on one failed trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// The trial's number in its run, from 1.
    pub trial: u32,
    /// The reflection.
    pub reflection: String,
}
