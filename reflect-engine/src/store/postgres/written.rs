//! What the reviews of a transaction have written, for those that come after them.

use std::collections::{HashMap, HashSet};

use crate::review::{AffectedMemories, MemoryWrite, PastWrite, Standing, Writes};
use crate::store::MemoryKey;

/// What was written since the standings of the transaction's reviews were read.
#[derive(Debug, Default)]
pub(super) struct Written {
    traces: HashSet<i64>,
    /// The utilities and uses of memories.
    utilities: HashMap<MemoryKey, (f64, u64)>,
    /// Whether a review was replaced or withdrawn, which changes more than its own trace and utilities.
    is_more: bool,
}

impl Written {
    /// A standing that was read before all this was written, as it is now; `None` if it has to be read again.
    pub(super) fn brought_to(&self, trace: i64, mut standing: Standing) -> Option<Standing> {
        if self.is_more || self.traces.contains(&trace) {
            return None;
        }
        match &mut standing.memories {
            AffectedMemories::Given(given) => {
                let utilities = given.iter_mut().filter_map(|given| given.utility.as_mut());
                for utility in utilities {
                    if let Some(&(q, uses)) = self.utilities.get(&utility.memory) {
                        (utility.q, utility.uses) = (q, uses);
                    }
                }
            }
            AffectedMemories::Moved(moved) => {
                let is_written = |memory| self.utilities.contains_key(memory);
                if moved.iter().any(|moved| is_written(&moved.memory)) {
                    return None;
                }
            }
        }
        Some(standing)
    }

    /// Adds what was written about a trace.
    pub(super) fn add(&mut self, trace: i64, changes: &Writes) {
        self.traces.insert(trace);
        let is_first = matches!(
            changes.memory,
            MemoryWrite::Keep | MemoryWrite::Insert { .. }
        );
        self.is_more |= !is_first || changes.past != PastWrite::Keep;
        let utilities = changes.utilities.iter();
        self.utilities
            .extend(utilities.map(|write| (write.memory, (write.q, write.uses))));
    }
}
