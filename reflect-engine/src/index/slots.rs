//! Where the memories of an index are.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use super::Error;
use super::block::Block;
use super::groups::Groups;

/// Where a memory is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Slot {
    group: u32,
    row: u32,
}

impl Slot {
    pub(super) fn new(group: usize, row: usize) -> Result<Self, Error> {
        let [group, row] = [group, row].map(u32::try_from);
        let (group, row) = (
            group.map_err(|_| Error::Full)?,
            row.map_err(|_| Error::Full)?,
        );
        Ok(Self { group, row })
    }

    pub(super) fn group(self) -> usize {
        self.group as usize
    }

    pub(super) fn row(self) -> usize {
        self.row as usize
    }

    /// The memory that is there.
    fn key(self, groups: &Groups) -> i64 {
        groups.get(self.group()).entry(self.row()).key
    }
}

/// The slots of all memories, by the keys that are found there: so a memory takes half the room of a map from its key.
#[derive(Default)]
pub(super) struct Slots {
    table: HashTable<Slot>,
    hash: RandomState,
}

impl Slots {
    pub(super) fn with_capacity(slots: usize) -> Self {
        Self {
            table: HashTable::with_capacity(slots),
            hash: RandomState::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    pub(super) fn get(&self, key: i64, groups: &Groups) -> Option<Slot> {
        let is_there = |slot: &Slot| slot.key(groups) == key;
        self.table.find(self.hash.hash_one(key), is_there).copied()
    }

    /// Adds the slot of a memory that has none.
    pub(super) fn insert(&mut self, key: i64, slot: Slot, groups: &Groups) {
        let hash = |slot: &Slot| self.hash.hash_one(slot.key(groups));
        self.table
            .insert_unique(self.hash.hash_one(key), slot, hash);
    }

    /// Adds the slots of all memories in a group.
    pub(super) fn insert_all(&mut self, group: usize, groups: &Groups) {
        for (key, slot) in slots(group, groups) {
            self.insert(key, slot, groups);
        }
    }

    /// Moves a memory to a slot that no other has.
    pub(super) fn set(&mut self, key: i64, before: Slot, slot: Slot) {
        let hash = self.hash.hash_one(key);
        let known = self.table.find_mut(hash, |known| *known == before);
        debug_assert!(known.is_some(), "a memory has a slot");
        if let Some(known) = known {
            *known = slot;
        }
    }

    /// Forgets the slot of a memory.
    pub(super) fn remove(&mut self, key: i64, slot: Slot) {
        let hash = self.hash.hash_one(key);
        let found = self.table.find_entry(hash, |known| *known == slot);
        debug_assert!(found.is_ok(), "a memory has a slot");
        if let Ok(found) = found {
            found.remove();
        }
    }

    /// The buckets of a group's memories, which stay the same while their rows move.
    pub(super) fn buckets(&self, group: usize, groups: &Groups) -> HashMap<i64, usize> {
        let buckets = slots(group, groups).filter_map(|(key, slot)| {
            let hash = self.hash.hash_one(key);
            let bucket = self.table.find_bucket_index(hash, |known| *known == slot);
            Some((key, bucket?))
        });
        buckets.collect()
    }

    /// Sets the slots of a group's memories, whose rows have moved within it, in these buckets.
    pub(super) fn set_all(&mut self, buckets: &HashMap<i64, usize>, group: usize, groups: &Groups) {
        for (key, slot) in slots(group, groups) {
            let bucket = buckets.get(&key);
            let known = bucket.and_then(|bucket| self.table.get_bucket_mut(*bucket));
            debug_assert!(known.is_some(), "a memory has a slot");
            if let Some(known) = known {
                *known = slot;
            }
        }
    }

    /// Gives room back, well below the capacity, so that growing and shrinking stay cheap on average.
    pub(super) fn shrink(&mut self, groups: &Groups) {
        if self.len() < self.table.capacity() / 4 {
            let hash = |slot: &Slot| self.hash.hash_one(slot.key(groups));
            self.table.shrink_to(self.table.len() * 2, hash);
        }
    }

    /// The memory used outside of itself, including reserved capacity.
    pub(super) fn bytes(&self) -> usize {
        self.table.allocation_size()
    }
}

/// Where the memories of a group are.
fn slots(group: usize, groups: &Groups) -> impl Iterator<Item = (i64, Slot)> + '_ {
    let entries = groups.get(group).blocks().iter().flat_map(Block::entries);
    let slots = (0..).map_while(move |row| Slot::new(group, row).ok());
    entries.map(|entry| entry.key).zip(slots)
}
