//! Quantised vectors in memory, which shortlist candidates for the exact ranking.
//!
//! The index keeps 6 bits of each component, in groups of vectors that are alike. A scan skips the groups
//! and blocks that cannot rank. It bounds the score of every other memory by its part along the group's centre,
//! by the first 4 bits where this does not rule it out, and then by all 6. The [`Shortlist`] holds every memory
//! that may be among the best [`Params::pool`], and asks for as many exact vectors as it takes to be sure:
//! [`rank`](crate::rank::rank) over these gives the same answer as over all memories.
//!
//! A project whose vectors take too much room has a roster in place of an index: the memories without their
//! vectors, of which the store proposes the nearest.

mod block;
mod code;
mod codes;
mod cut;
mod group;
mod groups;
mod kernel;
mod means;
mod members;
mod probe;
mod projects;
mod roster;
mod saving;
mod scales;
mod scan;
mod shortlist;
mod slots;
mod state;
mod summary;
mod tags;

use std::fmt;
use std::io::{self, Read, Write};

use borsh::{BorshDeserialize, BorshSerialize};
use reflect_types::Metadata;

use crate::credit::Effect;
use crate::hash::KeyedHash;
use crate::rank::{Merit, Params, signature};
use block::{Entry, Row};
use group::Group;
use groups::Groups;
use roster::{Listed, Roster};
use slots::{Slot, Slots};
use tags::Shared;

pub(crate) use codes::Codes;
pub(crate) use projects::{Indexes, ProjectIndex};
pub(crate) use saving::{Due, Saved};
pub use shortlist::Shortlist;

/// The quantised vectors of one project.
pub struct Index {
    dims: usize,
    groups: Groups,
    slots: Slots,
    tags: Shared,
    hash: KeyedHash,
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
    /// There are more than 2^32 memories.
    #[error("the index is full: split the project")]
    Full,
}

impl Index {
    /// An empty index for vectors of `dims` components.
    pub fn new(dims: usize) -> Self {
        Self {
            dims,
            groups: Groups::new(dims),
            slots: Slots::default(),
            tags: Shared::default(),
            hash: KeyedHash::default(),
        }
    }

    /// An empty index whose [fingerprints](Self::fingerprint_of) compare with those of this one.
    pub(crate) fn empty_like(&self) -> Self {
        Self {
            hash: self.hash,
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
        self.slots.len() == 0
    }

    /// Whether the index contains the memory.
    pub fn contains(&self, key: i64) -> bool {
        self.slot(key).is_some()
    }

    /// Inserts or replaces a memory. On an error the index is unchanged.
    pub fn upsert(
        &mut self,
        key: i64,
        vector: &[f32],
        q: f64,
        metadata: &Metadata,
    ) -> Result<(), Error> {
        check(self.dims, vector)?;
        check_utility(q)?;
        let direction = code::direction(vector);
        let known = self.slot(key);
        let slot = if let Some(slot) = known {
            slot
        } else {
            let group = self.groups.nearest(&direction);
            Slot::new(group, self.groups.get(group).len())?
        };
        let code = code::encode(&direction);
        let entry = Entry {
            key,
            fingerprint: fingerprint(self.hash, vector),
            signature: signature(metadata),
            tags: self.tags.of(metadata),
        };
        let group = self.groups.get_mut(slot.group());
        let along = group.centre().along(&direction);
        if known.is_some() {
            let before = group.entry(slot.row()).tags.clone();
            let merit = Merit {
                q,
                ..group.merit(slot.row())
            };
            group.put(slot.row(), Row::new(code, along, merit, entry));
            self.tags.release(before);
        } else {
            let merit = Merit::untested(q);
            group.put(slot.row(), Row::new(code, along, merit, entry));
            self.slots.insert(key, slot, &self.groups);
            self.groups.grow(slot.group());
        }
        Ok(())
    }

    /// Sets what is expected of memories.
    pub(crate) fn set_effects(&mut self, effects: &[(i64, Effect)]) {
        for (key, effect) in effects {
            if let Some(slot) = self.slot(*key) {
                let group = self.groups.get_mut(slot.group());
                group.set_effect(slot.row(), *effect);
            }
        }
    }

    /// Brings memories of like effect together, where many have changed, so that queries skip most of them.
    pub(crate) fn sort(&mut self) {
        for group in 0..self.groups.len() {
            if self.groups.get(group).needs_sorting() {
                let buckets = self.slots.buckets(group, &self.groups);
                self.groups.get_mut(group).sort();
                self.slots.set_all(&buckets, group, &self.groups);
            }
        }
    }

    /// What reviews say about a memory.
    pub fn merit(&self, key: i64) -> Option<Merit> {
        let slot = self.slot(key)?;
        Some(self.groups.get(slot.group()).merit(slot.row()))
    }

    /// Equal for memories with equal vectors.
    pub(crate) fn fingerprint_of(&self, key: i64) -> Option<u64> {
        let slot = self.slot(key)?;
        let entry = self.groups.get(slot.group()).entry(slot.row());
        Some(entry.fingerprint)
    }

    /// The cosine similarity of two memories, which either of these indexes may hold, to a few thousandths.
    /// It follows from their vectors alone.
    pub(crate) fn similarity(indexes: [&Self; 2], a: i64, b: i64) -> Option<f64> {
        let of = |key: i64| {
            let mut held = indexes
                .iter()
                .filter_map(|index| Some((index, index.slot(key)?)));
            let (index, slot) = held.next()?;
            Some(index.groups.get(slot.group()).planes(slot.row()))
        };
        Some(code::similarity(of(a)?, of(b)?))
    }

    /// Removes a memory; returns whether the index contained it.
    pub fn remove(&mut self, key: i64) -> bool {
        let Some(slot) = self.slot(key) else {
            return false;
        };
        self.slots.remove(key, slot);
        let group = self.groups.get_mut(slot.group());
        let tags = group.entry(slot.row()).tags.clone();
        let last = Slot::new(slot.group(), group.len() - 1);
        if let (Some(moved), Ok(last)) = (group.remove(slot.row()), last) {
            self.slots.set(moved, last, slot);
        }
        self.tags.release(tags);
        if self.is_empty() {
            self.groups = Groups::new(self.dims);
        }
        self.slots.shrink(&self.groups);
        true
    }

    fn slot(&self, key: i64) -> Option<Slot> {
        self.slots.get(key, &self.groups)
    }

    /// All memories that may be in the pool of the exact ranking, and few others.
    ///
    /// The metadata filter is applied; memories below the floor may be included.
    pub fn shortlist(
        &self,
        probe: &[f32],
        params: &Params,
        filter: Option<&Metadata>,
    ) -> Result<Shortlist, Error> {
        check(self.dims, probe)?;
        let waiting = scan::scan(&self.groups, probe, params, filter);
        Ok(Shortlist::new(probe, params, waiting))
    }

    /// The memory used, including reserved capacity.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.groups.bytes() + self.tags.bytes() + self.slots.bytes()
    }

    pub(crate) fn save(&self, out: &mut impl Write) -> io::Result<()> {
        (self.dims, self.hash).serialize(out)?;
        let tags = self.tags.save(out)?;
        self.groups.save(&tags, out)
    }

    pub(crate) fn load(input: &mut impl Read) -> io::Result<Self> {
        let (dims, hash) = BorshDeserialize::deserialize_reader(input)?;
        let (tags, all) = Shared::load(input)?;
        let groups = Groups::load(&all, input)?;
        let mut known = Slots::with_capacity(groups.iter().map(Group::len).sum());
        for group in 0..groups.len() {
            known.insert_all(group, &groups);
        }
        Ok(Self {
            dims,
            groups,
            slots: known,
            tags,
            hash,
        })
    }

    /// The memories without their vectors.
    fn into_roster(self) -> Roster {
        let blocks = self.groups.iter().flat_map(Group::blocks);
        let rows = blocks.flat_map(|block| block.merits().iter().zip(block.entries()));
        let rows = rows.map(|(merit, entry)| Listed {
            merit,
            entry: entry.clone(),
        });
        Roster::new(self.dims, rows.collect(), self.tags, self.hash)
    }
}

fn check(dims: usize, vector: &[f32]) -> Result<(), Error> {
    if vector.len() != dims {
        return Err(Error::Dims {
            expected: dims,
            got: vector.len(),
        });
    }
    let position = vector.iter().position(|x| !x.is_finite());
    position.map_or(Ok(()), |position| Err(Error::NotFinite { position }))
}

/// A keyed hash of a vector, so that collisions cannot be forced.
fn fingerprint(hash: KeyedHash, vector: &[f32]) -> u64 {
    let mut bytes = vec![0; size_of_val(vector)];
    let (components, _) = bytes.as_chunks_mut();
    for (bytes, x) in components.iter_mut().zip(vector) {
        *bytes = x.to_le_bytes();
    }
    hash.of(&bytes)
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
