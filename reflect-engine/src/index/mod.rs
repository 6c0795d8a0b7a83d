//! Quantised vectors in memory, which shortlist candidates for the exact ranking.
//!
//! The index keeps 6 bits of each component, in the order in which the memories came. A pass over all codes answers
//! several queries: it bounds the score of every memory by the first 4 bits and, where this does not rule it out, by
//! all 6. A [`Shortlist`] holds every memory that may be among the best [`Params::pool`], and asks for as many exact
//! vectors as it takes to be sure: [`rank`](crate::rank::rank) over these gives the same answer as over all memories.
//!
//! What queries read of a project is published and never changes. Learning works on rows of its own, which share with
//! the published ones what has not changed.

#![expect(
    clippy::inline_always,
    reason = "only what is inlined is compiled for the instruction set"
)]

mod block;
mod code;
mod cut;
mod kernel;
mod probe;
mod project;
mod projects;
mod published;
mod rows;
mod scan;
mod shortlist;
mod state;
mod tags;
mod waiting;

use std::collections::HashMap;
use std::fmt;

use reflect_types::Metadata;

use crate::hash::KeyedHash;
use crate::learn::Effect;
use crate::rank::{Merit, Params, signature};
use block::{Entry, Row};
use rows::Rows;
use tags::Shared;

pub(crate) use project::{ProjectIndex, Turn};
pub(crate) use projects::Indexes;
pub(crate) use published::Asked;
pub use scan::Sought;
pub use shortlist::Shortlist;

/// The quantised vectors of one project.
pub struct Index {
    rows: Rows,
    /// The row of each memory.
    places: HashMap<i64, u32>,
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
            rows: Rows::new(dims),
            places: HashMap::new(),
            tags: Shared::default(),
            hash: KeyedHash::default(),
        }
    }

    /// An empty index whose [fingerprints](Self::fingerprint_of) compare with those of this one.
    pub(crate) fn empty_like(&self) -> Self {
        Self {
            hash: self.hash,
            ..Self::new(self.dims())
        }
    }

    /// The number of components of a vector.
    pub fn dims(&self) -> usize {
        self.rows.dims()
    }

    /// The number of memories.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether the index contains the memory.
    pub fn contains(&self, key: i64) -> bool {
        self.places.contains_key(&key)
    }

    /// Inserts or replaces a memory. On an error the index is unchanged.
    pub fn upsert(
        &mut self,
        key: i64,
        vector: &[f32],
        q: f64,
        metadata: &Metadata,
    ) -> Result<(), Error> {
        check(self.dims(), vector)?;
        check_utility(q)?;
        let known = self.place(key);
        let next = u32::try_from(self.len()).map_err(|_| Error::Full)?;
        let entry = Entry {
            key,
            fingerprint: fingerprint(self.hash, vector),
            signature: signature(metadata),
            tags: self.tags.of(metadata),
        };
        let code = || code::encode(&code::direction(vector));
        if let Some(at) = known {
            if self.rows.entry(at).fingerprint != entry.fingerprint {
                self.rows.set_code(at, &code());
            }
            let merit = Merit {
                q,
                ..self.rows.merit(at)
            };
            self.rows.set_merit(at, merit);
            let before = self.rows.set_entry(at, entry);
            self.tags.release(before.tags.as_ref());
        } else {
            self.rows.push(Row {
                code: code(),
                merit: Merit::untested(q),
                entry,
            });
            self.places.insert(key, next);
        }
        Ok(())
    }

    /// Sets what is expected of memories.
    pub(crate) fn set_effects(&mut self, effects: &[(i64, Effect)]) {
        for (key, effect) in effects {
            if let Some(at) = self.place(*key) {
                let Merit { q, .. } = self.rows.merit(at);
                let effect = *effect;
                self.rows.set_merit(at, Merit { q, effect });
            }
        }
    }

    /// What reviews say about a memory.
    pub fn merit(&self, key: i64) -> Option<Merit> {
        Some(self.rows.merit(self.place(key)?))
    }

    /// Equal for memories with equal vectors.
    pub(crate) fn fingerprint_of(&self, key: i64) -> Option<u64> {
        Some(self.rows.entry(self.place(key)?).fingerprint)
    }

    /// The cosine similarity of two memories, which either of these indexes may hold, to a few thousandths.
    /// It follows from their vectors alone.
    pub(crate) fn similarity(indexes: [&Self; 2], a: i64, b: i64) -> Option<f64> {
        let of = |key: i64| {
            let mut held = indexes
                .iter()
                .filter_map(|index| Some((index, index.place(key)?)));
            let (index, at) = held.next()?;
            Some(index.rows.planes(at))
        };
        Some(code::similarity(of(a)?, of(b)?))
    }

    /// Removes a memory; returns whether the index contained it.
    pub fn remove(&mut self, key: i64) -> bool {
        let Some(at) = self.places.remove(&key) else {
            return false;
        };
        if let Some((entry, moved)) = self.rows.remove(at as usize) {
            self.tags.release(entry.tags.as_ref());
            self.places.extend(moved.map(|moved| (moved, at)));
        }
        if self.len() < self.places.capacity() / 4 {
            self.places.shrink_to(self.len() * 2);
        }
        true
    }

    fn place(&self, key: i64) -> Option<usize> {
        self.places.get(&key).map(|at| *at as usize)
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
        let sought = Sought {
            probe,
            params: *params,
            filter,
        };
        let mut shortlists = self.shortlists(&[sought])?;
        Ok(shortlists.remove(0))
    }

    /// The [`shortlist`](Self::shortlist) of each query, by one pass over the codes.
    pub fn shortlists(&self, queries: &[Sought<'_>]) -> Result<Vec<Shortlist>, Error> {
        for query in queries {
            check(self.dims(), query.probe)?;
        }
        Ok(scan::scan(self.rows.blocks(), queries))
    }

    /// The memory used, including reserved capacity.
    pub fn bytes(&self) -> usize {
        // A hash table keeps an eighth of its entries free, and has a byte for each.
        let places = self.places.capacity() * (size_of::<(i64, u32)>() + 1) * 8 / 7;
        size_of::<Self>() + self.rows.bytes() + self.tags.bytes() + places
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
            .field("dims", &self.dims())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

fn check_utility(q: f64) -> Result<(), Error> {
    q.is_finite().then_some(()).ok_or(Error::Utility)
}

#[cfg(test)]
mod tests;
