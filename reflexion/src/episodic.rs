use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The reflection on one failed trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// The trial's number in its run, from 1.
    pub trial: u32,
    /// The reflection.
    pub reflection: String,
}

/// The latest reflections of a run. A full memory drops its oldest entry.
///
/// ```
/// use reflexion::{EpisodicMemory, MemoryEntry};
///
/// let mut memory = EpisodicMemory::new(2);
/// for trial in 1..=3 {
///     memory.push(MemoryEntry { trial, reflection: format!("lesson {trial}") });
/// }
/// let trials: Vec<u32> = memory.iter().map(|entry| entry.trial).collect();
/// assert_eq!(trials, [2, 3]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpisodicMemory {
    entries: VecDeque<MemoryEntry>,
    capacity: usize,
}

impl EpisodicMemory {
    /// An empty memory for up to `capacity` entries; 0 keeps none.
    pub fn new(capacity: usize) -> Self {
        Self {
            // The capacity is configured and may be huge, so nothing is allocated for it.
            entries: VecDeque::new(),
            capacity,
        }
    }

    /// Adds an entry, and drops the oldest if the memory is full.
    pub fn push(&mut self, entry: MemoryEntry) {
        self.entries.push_back(entry);
        if self.entries.len() > self.capacity {
            self.entries.pop_front();
        }
    }

    /// The entries, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &MemoryEntry> {
        self.entries.iter()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the memory is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The maximum number of entries.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The entries, oldest first, cloned.
    pub fn to_vec(&self) -> Vec<MemoryEntry> {
        self.iter().cloned().collect()
    }
}

impl Extend<MemoryEntry> for EpisodicMemory {
    fn extend<I: IntoIterator<Item = MemoryEntry>>(&mut self, entries: I) {
        entries.into_iter().for_each(|entry| self.push(entry));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trials(memory: &EpisodicMemory) -> Vec<u32> {
        memory.iter().map(|entry| entry.trial).collect()
    }

    fn filled(capacity: usize, entries: u32) -> EpisodicMemory {
        let mut memory = EpisodicMemory::new(capacity);
        memory.extend((1..=entries).map(|trial| MemoryEntry {
            trial,
            reflection: String::new(),
        }));
        memory
    }

    #[test]
    fn a_full_memory_drops_the_oldest_and_keeps_trial_numbers() {
        assert_eq!(trials(&filled(3, 2)), [1, 2]);
        assert_eq!(trials(&filled(3, 4)), [2, 3, 4]);
        assert_eq!(trials(&filled(1, 4)), [4]);
        assert!(filled(0, 4).is_empty());
    }

    #[test]
    fn a_huge_capacity_allocates_nothing() {
        let memory = filled(usize::MAX, 2);
        assert_eq!(memory.len(), 2);
        assert_eq!(memory.capacity(), usize::MAX);
    }
}
