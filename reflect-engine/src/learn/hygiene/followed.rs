//! What an engine with another embedder has merged.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::MemoryKey;

/// The stored merges, as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Followed {
    into: BTreeMap<MemoryKey, MemoryKey>,
    /// The same, by the memory that stands.
    merged: BTreeSet<(MemoryKey, MemoryKey)>,
    /// Those that have changed since they were last told.
    moved: BTreeSet<MemoryKey>,
}

impl Followed {
    /// A memory is new or has changed: it is stored as merged into that one, or as standing.
    pub(super) fn put(&mut self, key: MemoryKey, into: Option<MemoryKey>) {
        let before = match into {
            Some(into) => self.into.insert(key, into),
            None => self.into.remove(&key),
        };
        if before != into {
            self.merged.extend(into.map(|into| (into, key)));
            if let Some(before) = before {
                self.merged.remove(&(before, key));
            }
            self.moved.insert(key);
        }
        // It may come after those that are merged into it.
        let waiting = (key, MemoryKey::MIN)..=(key, MemoryKey::MAX);
        let waiting = self.merged.range(waiting).map(|(_, key)| *key);
        self.moved.extend(waiting);
    }

    /// A memory is gone.
    pub(super) fn remove(&mut self, key: MemoryKey) {
        if let Some(into) = self.into.remove(&key) {
            self.merged.remove(&(into, key));
        }
        self.moved.remove(&key);
    }

    /// The memories that are merged into another one than at the last call, or into none.
    pub(super) fn take_moved(&mut self) -> Vec<(MemoryKey, Option<MemoryKey>)> {
        let moved = std::mem::take(&mut self.moved).into_iter();
        moved
            .map(|key| (key, self.into.get(&key).copied()))
            .collect()
    }

    /// The memory used, approximately.
    pub(super) fn bytes(&self) -> usize {
        self.into.len() * 2 * size_of::<(MemoryKey, MemoryKey)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_is_told_when_it_changes_and_again_when_the_standing_memory_comes() {
        let mut followed = Followed::default();
        followed.put(2, Some(1));
        assert_eq!(followed.take_moved(), [(2, Some(1))]);
        followed.put(2, Some(1));
        assert_eq!(followed.take_moved(), []);
        followed.put(1, None);
        assert_eq!(followed.take_moved(), [(2, Some(1))]);
        followed.put(2, None);
        assert_eq!(followed.take_moved(), [(2, None)]);
        followed.put(1, None);
        assert_eq!(followed.take_moved(), []);
    }
}
