use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// What one failed trial taught.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryEntry {
    /// The trial's number in the run that it was part of, from 1.
    pub trial: u32,
    /// What it teaches.
    pub reflection: String,
}

/// The latest lessons of a run: when it is full, the oldest makes room.
///
/// ```
/// use reflect_sdk::reflexion::{EpisodicMemory, MemoryEntry};
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
    /// An empty memory for this many entries; 0 remembers nothing.
    pub fn new(capacity: usize) -> Self {
        Self {
            // Room is made as entries come: the capacity is whatever a user configured.
            entries: VecDeque::new(),
            capacity,
        }
    }

    /// Adds an entry and drops the oldest where there are too many.
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

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is nothing to remember.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries there can be.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The entries, oldest first, as a list of their own.
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

    // Row 9.
    #[test]
    fn the_oldest_makes_room_and_the_others_keep_their_numbers() {
        assert_eq!(trials(&filled(3, 2)), [1, 2]);
        assert_eq!(trials(&filled(3, 4)), [2, 3, 4]);
        assert_eq!(trials(&filled(1, 4)), [4]);
        assert!(filled(0, 4).is_empty());
    }

    // Row 8.
    #[test]
    fn an_enormous_capacity_costs_nothing() {
        let memory = filled(usize::MAX, 2);
        assert_eq!(memory.len(), 2);
        assert_eq!(memory.capacity(), usize::MAX);
    }
}
