//! Finds, without the exact vectors, the few memories among which the exact ranking chooses.
//!
//! The index keeps a project's vectors as codes of 12 bits a component. A scan bounds every memory's
//! score from both sides by the first 4 bits, then by more bits what these do not rule out; what
//! might stand among the best [`Params::pool`] is the shortlist, to be fetched as `f32` and given to
//! [`rank`](crate::rank::rank), which then answers exactly what it would over all memories.

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

use crate::rank::{Params, signature};
use block::{Block, Entry, ROWS};
use tags::{Shared, Tags};

pub(crate) use projects::{Indexes, ProjectIndex};

/// The quantised vectors of one project.
pub struct Index {
    dims: usize,
    /// All full but the last.
    blocks: Vec<Block>,
    /// Where each key stands: block by block, row by row.
    slots: HashMap<i64, usize>,
    tags: Shared,
    hasher: RandomState,
}

/// What the index does not take.
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
    /// The vector has no direction.
    #[error("component {position} of the vector is not a finite number: embed the text again")]
    NotFinite {
        /// The first such component.
        position: usize,
    },
    /// The utility cannot be compared.
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

    /// How many components a vector has.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// How many memories it holds.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Whether it holds the memory.
    pub fn contains(&self, key: i64) -> bool {
        self.slots.contains_key(&key)
    }

    /// Adds a memory, or replaces the one with this key. A refused one leaves the index as it was.
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
        self.blocks[slot / ROWS].put(slot % ROWS, vector, q, entry);
        self.tags.release(before);
        Ok(())
    }

    /// Changes a memory's utility; answers whether the index holds the memory.
    pub fn set_q(&mut self, key: i64, q: f64) -> Result<bool, Error> {
        check_utility(q)?;
        let slot = self.slots.get(&key);
        if let Some(slot) = slot {
            self.blocks[slot / ROWS].set_q(slot % ROWS, q);
        }
        Ok(slot.is_some())
    }

    /// A memory's utility.
    pub fn q(&self, key: i64) -> Option<f64> {
        let slot = self.slots.get(&key)?;
        Some(self.blocks[slot / ROWS].scales()[slot % ROWS].q)
    }

    /// Forgets a memory; answers whether the index held it.
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
        // Far from what grows again with the next upsert, so that both stay cheap on average.
        if self.slots.len() < self.slots.capacity() / 4 {
            self.slots.shrink_to(self.slots.len() * 2);
            self.blocks.shrink_to(self.blocks.len() * 2);
        }
        true
    }

    /// The keys of all memories that may be in the pool of the exact ranking, and hardly others,
    /// in rising order.
    ///
    /// What the metadata filter keeps out is not among them; what the floor keeps out may be.
    pub fn shortlist(
        &self,
        probe: &[f32],
        params: &Params,
        filter: Option<&Metadata>,
    ) -> Result<Vec<i64>, Error> {
        self.check(probe)?;
        Ok(scan::shortlist(&self.blocks, probe, params, filter))
    }

    /// The memory it takes, what is reserved but unused included.
    pub fn bytes(&self) -> usize {
        let blocks: usize = self.blocks.iter().map(Block::bytes).sum();
        let spare_blocks = self.blocks.capacity() - self.blocks.len();
        // A hash table has a power of two of buckets, of which it fills seven eighths at the most,
        // and a control byte for each.
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

    /// The same for equal vectors. It is keyed, so that nobody can make different ones collide.
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
