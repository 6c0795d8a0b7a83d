//! Quantised vectors in memory, which shortlist candidates for the exact ranking.
//!
//! The index keeps 12 bits of each component. A scan bounds every memory's score by the first 4 bits,
//! then by more bits where these do not rule it out. The shortlist holds every memory that may be
//! among the best [`Params::pool`]; [`rank`](crate::rank::rank) over its exact vectors gives the same
//! answer as over all memories.

mod block;
mod code;
mod cut;
mod kernel;
mod projects;
mod scan;
mod tags;

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};

use reflect_types::Metadata;

use crate::credit::Effect;
use crate::rank::{Merit, Params, signature};
use block::{Block, Entry, ROWS};
use tags::{Shared, Tags};

pub(crate) use projects::{Indexes, ProjectIndex};

/// The quantised vectors of one project.
pub struct Index {
    dims: usize,
    /// All full but the last.
    blocks: Vec<Block>,
    /// The position of each key, counted across blocks.
    slots: HashMap<i64, usize>,
    tags: Shared,
    hasher: RandomState,
}

/// A value that the index refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The vector comes from another embedder.
    #[error("the vector has {got} dimensions, the index {expected}: embed it with the same model")]
    Dims {
        /// The dimensions of the index.
        expected: usize,
        /// The dimensions of the vector.
        got: usize,
    },
    /// A component is infinite or not a number.
    #[error("component {position} of the vector is not a finite number: embed the text again")]
    NotFinite {
        /// The first such component.
        position: usize,
    },
    /// The utility is infinite or not a number.
    #[error("the utility is not a finite number: pass one from 0 to 1")]
    Utility,
}

impl Index {
    /// An empty index for vectors of `dims` components.
    pub fn new(dims: usize) -> Self {
        Self {
            dims,
            blocks: Vec::new(),
            slots: HashMap::new(),
            tags: Shared::default(),
            hasher: RandomState::new(),
        }
    }

    /// An empty index whose [fingerprints](Self::fingerprint_of) compare with those of this one.
    pub(crate) fn empty_like(&self) -> Self {
        Self {
            hasher: self.hasher.clone(),
            ..Self::new(self.dims)
        }
    }

    /// The number of components of a vector.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The number of memories.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether the index contains the memory.
    pub fn contains(&self, key: i64) -> bool {
        self.slots.contains_key(&key)
    }

    /// Inserts or replaces a memory. On an error the index is unchanged.
    pub fn upsert(
        &mut self,
        key: i64,
        vector: &[f32],
        q: f64,
        metadata: &Metadata,
    ) -> Result<(), Error> {
        self.check(vector)?;
        check_utility(q)?;
        let entry = Entry {
            key,
            fingerprint: self.fingerprint(vector),
            signature: signature(metadata),
            tags: self.tags.of(metadata),
        };
        let end = self.slots.len();
        let slot = *self.slots.entry(key).or_insert(end);
        if slot == end && end.is_multiple_of(ROWS) {
            self.blocks.push(Block::new(self.dims));
        }
        let before = (slot < end).then(|| self.tags_at(slot)).flatten();
        let merit = if slot < end {
            Merit {
                q,
                ..self.merit_at(slot)
            }
        } else {
            Merit::untested(q)
        };
        self.blocks[slot / ROWS].put(slot % ROWS, vector, merit, entry);
        self.tags.release(before);
        Ok(())
    }

    /// Sets what is learned about a memory's effect.
    pub(crate) fn set_effect(&mut self, key: i64, effect: Effect) {
        if let Some(slot) = self.slots.get(&key) {
            let Merit { q, .. } = self.merit_at(*slot);
            self.blocks[slot / ROWS].set_merit(slot % ROWS, Merit { q, effect });
        }
    }

    /// What reviews say about a memory.
    pub fn merit(&self, key: i64) -> Option<Merit> {
        Some(self.merit_at(*self.slots.get(&key)?))
    }

    /// Equal for memories with equal vectors.
    pub(crate) fn fingerprint_of(&self, key: i64) -> Option<u64> {
        let slot = self.slots.get(&key)?;
        Some(self.blocks[slot / ROWS].row(slot % ROWS).entry.fingerprint)
    }

    /// The cosine similarity of two memories, which either of these indexes may hold, to about a thousandth.
    pub(crate) fn similarity(indexes: [&Self; 2], a: i64, b: i64) -> Option<f64> {
        let of = |key: i64| {
            let mut held = indexes
                .iter()
                .filter_map(|index| Some((index, *index.slots.get(&key)?)));
            let (index, slot) = held.next()?;
            let (block, row) = (&index.blocks[slot / ROWS], slot % ROWS);
            Some((block.code(row), block.scales()[row].step))
        };
        Some(code::similarity(of(a)?, of(b)?))
    }

    /// Removes a memory; returns whether the index contained it.
    pub fn remove(&mut self, key: i64) -> bool {
        let Some(slot) = self.slots.remove(&key) else {
            return false;
        };
        let tags = self.tags_at(slot);
        // The last memory moves into the gap.
        let Some(last) = self.blocks.last_mut().and_then(Block::pop) else {
            return false;
        };
        if last.key() == key {
            drop(last);
        } else {
            self.slots.insert(last.key(), slot);
            self.blocks[slot / ROWS].replace(slot % ROWS, last);
        }
        self.tags.release(tags);
        if self.blocks.last().is_some_and(Block::is_empty) {
            self.blocks.pop();
        }
        // Well below the capacity, so that growing and shrinking stay cheap on average.
        if self.slots.len() < self.slots.capacity() / 4 {
            self.slots.shrink_to(self.slots.len() * 2);
            self.blocks.shrink_to(self.blocks.len() * 2);
        }
        true
    }

    /// The keys of all memories that may be in the pool of the exact ranking, and few others, in
    /// rising order.
    ///
    /// The metadata filter is applied; memories below the floor may be included.
    pub fn shortlist(
        &self,
        probe: &[f32],
        params: &Params,
        filter: Option<&Metadata>,
    ) -> Result<Vec<i64>, Error> {
        self.check(probe)?;
        Ok(scan::shortlist(&self.blocks, probe, params, filter))
    }

    /// The memory used, including reserved capacity.
    pub fn bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Block::bytes).sum();
        let spare_blocks = self.blocks.capacity() - self.blocks.len();
        // A hash table has a power of two of buckets, fills at most seven eighths of them, and has
        // a control byte for each.
        let buckets = match self.slots.capacity() {
            0 => 0,
            capacity => (capacity * 8 / 7).next_power_of_two(),
        };
        size_of::<Self>()
            + blocks
            + self.tags.bytes()
            + spare_blocks * size_of::<Block>()
            + buckets * (size_of::<(i64, usize)>() + 1)
    }

    fn merit_at(&self, slot: usize) -> Merit {
        self.blocks[slot / ROWS].scales()[slot % ROWS].merit
    }

    fn tags_at(&self, slot: usize) -> Option<Tags> {
        self.blocks[slot / ROWS].row(slot % ROWS).entry.tags.clone()
    }

    fn check(&self, vector: &[f32]) -> Result<(), Error> {
        if vector.len() != self.dims {
            return Err(Error::Dims {
                expected: self.dims,
                got: vector.len(),
            });
        }
        let position = vector.iter().position(|x| !x.is_finite());
        position.map_or(Ok(()), |position| Err(Error::NotFinite { position }))
    }

    /// A keyed hash of the vector, so that collisions cannot be forced.
    fn fingerprint(&self, vector: &[f32]) -> u64 {
        let mut bits = Vec::with_capacity(vector.len());
        bits.extend(vector.iter().map(|x| x.to_bits()));
        self.hasher.hash_one(bits)
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Index")
            .field("dims", &self.dims)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

fn check_utility(q: f64) -> Result<(), Error> {
    q.is_finite().then_some(()).ok_or(Error::Utility)
}

#[cfg(test)]
mod tests;
