//! The memories of a project whose vectors stay in the store.
//!
//! The roster knows what reviews say about each memory, and its metadata. The store proposes the memories
//! nearest to a query, with bounds of their similarities and of all others'. A score never falls with the
//! similarity, so a bound of the similarity is one of the score: where enough memories surely score higher
//! than the others can, the shortlist is complete.

use std::collections::HashMap;
use std::fmt;

use reflect_types::Metadata;

use super::block::Entry;
use super::cut::Cut;
use super::probe::Bounds;
use super::scan::{Filter, Survivor, without_surplus_twins};
use super::shortlist::Waiting;
use super::tags::Shared;
use super::{Error, Shortlist, check, check_utility, fingerprint};
use crate::credit::Effect;
use crate::hash::KeyedHash;
use crate::rank::{Merit, Params, signature};
use crate::store::Nearest;

/// The most memories that are read although they were not proposed. Tests read few.
const MOST_OTHERS: usize = if cfg!(test) { 8 } else { 512 };

/// The memories of a project, without their vectors.
pub(super) struct Roster {
    dims: usize,
    rows: Vec<Listed>,
    places: HashMap<i64, usize>,
    tags: Shared,
    hash: KeyedHash,
}

pub(super) struct Listed {
    pub(super) merit: Merit,
    pub(super) entry: Entry,
}

impl Roster {
    /// A roster of the rows of an index.
    pub(super) fn new(dims: usize, rows: Vec<Listed>, tags: Shared, hash: KeyedHash) -> Self {
        let keys = rows.iter().map(|row| row.entry.key);
        Self {
            dims,
            places: keys.zip(0..).collect(),
            rows,
            tags,
            hash,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn upsert(
        &mut self,
        key: i64,
        vector: &[f32],
        q: f64,
        metadata: &Metadata,
    ) -> Result<(), Error> {
        check(self.dims, vector)?;
        check_utility(q)?;
        let entry = Entry {
            key,
            fingerprint: fingerprint(self.hash, vector),
            signature: signature(metadata),
            tags: self.tags.of(metadata),
        };
        if let Some(place) = self.places.get(&key) {
            let row = &mut self.rows[*place];
            row.merit.q = q;
            let before = std::mem::replace(&mut row.entry, entry);
            self.tags.release(before.tags);
        } else {
            self.places.insert(key, self.rows.len());
            self.rows.push(Listed {
                merit: Merit::untested(q),
                entry,
            });
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, key: i64) -> bool {
        let Some(place) = self.places.remove(&key) else {
            return false;
        };
        let row = self.rows.swap_remove(place);
        self.tags.release(row.entry.tags);
        if let Some(moved) = self.rows.get(place) {
            self.places.insert(moved.entry.key, place);
        }
        true
    }

    pub(super) fn set_effects(&mut self, effects: &[(i64, Effect)]) {
        for (key, effect) in effects {
            if let Some(place) = self.places.get(key) {
                self.rows[*place].merit.effect = *effect;
            }
        }
    }

    pub(super) fn merit(&self, key: i64) -> Option<Merit> {
        self.row(key).map(|row| row.merit)
    }

    pub(super) fn fingerprint_of(&self, key: i64) -> Option<u64> {
        self.row(key).map(|row| row.entry.fingerprint)
    }

    /// The memories that may be in the pool; `None` if too many were not proposed.
    pub(super) fn shortlist(
        &self,
        probe: &[f32],
        params: &Params,
        filter: Option<&Metadata>,
        nearest: &Nearest,
    ) -> Result<Option<Shortlist>, Error> {
        check(self.dims, probe)?;
        let mut scan = Scan {
            filter: Filter::new(filter),
            cut: Cut::new(*params),
            survivors: Vec::new(),
        };
        let mut proposed = vec![false; self.rows.len()];
        // The nearest first: most others are ruled out by them.
        for (key, near) in &nearest.memories {
            if let Some(place) = self.places.get(key) {
                proposed[*place] = true;
                let bounds = bounds(near - nearest.margin, near + nearest.margin);
                scan.examine(&self.rows[*place], bounds);
            }
        }
        let Some(others) = nearest.others else {
            return Ok(Some(scan.shortlist(probe, params)));
        };
        let others = bounds(-1.0, others + nearest.margin);
        for (row, is_proposed) in self.rows.iter().zip(&proposed) {
            if !is_proposed {
                scan.examine(row, others);
            }
        }
        let shortlist = scan.shortlist(probe, params);
        let unproposed = shortlist.keys().filter(|key| !proposed[self.places[key]]);
        Ok((unproposed.count() <= MOST_OTHERS).then_some(shortlist))
    }

    /// The memory used, including reserved capacity.
    pub(super) fn bytes(&self) -> usize {
        let places = self.places.capacity() * (size_of::<(i64, usize)>() + 1) * 8 / 7;
        size_of::<Self>() + self.rows.capacity() * size_of::<Listed>() + places + self.tags.bytes()
    }

    fn row(&self, key: i64) -> Option<&Listed> {
        self.places.get(&key).map(|place| &self.rows[*place])
    }
}

fn bounds(low: f64, high: f64) -> Bounds {
    Bounds {
        low: low.max(-1.0),
        high: high.min(1.0),
    }
}

struct Scan<'a> {
    filter: Filter<'a>,
    cut: Cut,
    survivors: Vec<Survivor>,
}

impl Scan<'_> {
    fn examine(&mut self, row: &Listed, bounds: Bounds) {
        let high = self.cut.params().score(bounds.high, row.merit);
        if self.cut.surely_misses(bounds.high, high) || !self.filter.passes(&row.entry) {
            return;
        }
        let key = row.entry.key;
        if self.cut.admits(bounds, row.merit, high, key) {
            let waiting = Waiting {
                key,
                merit: row.merit,
                high,
            };
            self.survivors.push(Survivor {
                fingerprint: row.entry.fingerprint,
                waiting,
            });
        }
    }

    fn shortlist(self, probe: &[f32], params: &Params) -> Shortlist {
        let Self {
            cut, mut survivors, ..
        } = self;
        survivors.retain(|s| cut.still_admits(s.waiting.high, s.waiting.key));
        Shortlist::new(probe, params, without_surplus_twins(survivors, params))
    }
}

impl fmt::Debug for Roster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roster")
            .field("dims", &self.dims)
            .field("len", &self.rows.len())
            .finish_non_exhaustive()
    }
}
