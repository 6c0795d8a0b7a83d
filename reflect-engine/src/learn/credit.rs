//! The reviewed runs of a project, and the state that follows from them.
//!
//! A run that follows the others is added to the state; after any other change the state is computed again.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use reflect_types::Review;

use super::account::{Account, PassCount};
use super::attribution::Attribution;
use super::effect::Effect;
use super::exposure::Exposure;
use super::pace::Pace;
use crate::hash::KeyedHash;
use crate::id::MemoryKey;

/// The reviewed runs of a project and what they say about its memories.
pub(crate) struct Credit {
    /// By the key of the memory that was learned from the run.
    runs: BTreeMap<MemoryKey, Run>,
    /// How many memories the runs were given, added up.
    given: usize,
    attribution: Attribution,
    /// The place of each memory in the attribution, by the hash of its id.
    places: HashMap<u64, usize>,
    /// The memory at each place.
    keys: Vec<MemoryKey>,
    /// The memory that stands for a merged one, by the hashes of their ids.
    merged: HashMap<u64, u64>,
    /// The last run that the attribution covers.
    last: Option<MemoryKey>,
    /// Whether the attribution covers a run that is no longer there or has changed.
    outdated: bool,
    pace: Pace,
    hash: KeyedHash,
}

/// A reviewed run, as the project's memories tell it.
pub(crate) struct ReviewedRun<'a> {
    /// The id of the memory that was learned from it.
    pub(crate) memory: &'a str,
    /// Equal for equal tasks.
    pub(crate) task: u64,
    pub(crate) passed: bool,
    /// The learning rate of the review.
    pub(crate) alpha: f64,
}

#[derive(PartialEq)]
struct Run {
    /// The hash of the id of its memory.
    memory: u64,
    task: u64,
    passed: bool,
    /// How much its review counts, from 0 to 1.
    weight: f64,
    /// The hashes of the ids of the memories it was given.
    given: Box<[u64]>,
}

impl Credit {
    pub(crate) fn new() -> Self {
        Self {
            runs: BTreeMap::new(),
            given: 0,
            attribution: Attribution::new(),
            places: HashMap::new(),
            keys: Vec::new(),
            merged: HashMap::new(),
            last: None,
            outdated: false,
            pace: Pace::default(),
            hash: KeyedHash::default(),
        }
    }

    /// Adds or replaces the run that a memory was learned from.
    pub(crate) fn put<'a>(
        &mut self,
        key: MemoryKey,
        run: &ReviewedRun<'_>,
        given: impl Iterator<Item = &'a str>,
    ) {
        let mut given: Vec<_> = given.map(|id| self.hash.of(id.as_bytes())).collect();
        given.sort_unstable();
        given.dedup();
        let run = Run {
            memory: self.hash.of(run.memory.as_bytes()),
            task: run.task,
            passed: run.passed,
            weight: weight(run.alpha),
            given: given.into(),
        };
        if self.runs.get(&key) != Some(&run) {
            self.outdated |= self.last.is_some_and(|last| key <= last);
            self.given += run.given.len();
            let before = self.runs.insert(key, run);
            self.given -= before.map_or(0, |run| run.given.len());
        }
    }

    /// Removes a memory and the run that it was learned from.
    pub(crate) fn remove(&mut self, key: MemoryKey) {
        let covered = self.last.is_some_and(|last| key <= last);
        if let Some(run) = self.runs.remove(&key) {
            self.given -= run.given.len();
            self.merged.remove(&run.memory);
            self.outdated |= covered;
        }
    }

    /// From now on, runs that were given one of these memories count as evidence about the one that stands
    /// for it; `None` for itself.
    pub(crate) fn merge(&mut self, merged: &[(MemoryKey, Option<MemoryKey>)]) {
        let mut affected = HashSet::new();
        for (key, into) in merged {
            let Some(run) = self.runs.get(key) else {
                continue;
            };
            let (id, into) = (run.memory, into.and_then(|into| self.runs.get(&into)));
            match into.map(|into| into.memory) {
                Some(into) => self.merged.insert(id, into),
                None => self.merged.remove(&id),
            };
            // No run that is covered was given a memory that came after it.
            if self.last.is_some_and(|last| *key <= last) {
                affected.insert(id);
            }
        }
        if let Some(last) = self.last.filter(|_| !affected.is_empty()) {
            let mut given = self.runs.range(..=last).flat_map(|(_, run)| &run.given);
            self.outdated |= given.any(|id| affected.contains(id));
        }
    }

    /// Whether [`settle`](Self::settle) has something to do, and may.
    pub(crate) fn is_due(&self) -> bool {
        self.outdated && self.pace.allows(Instant::now())
    }

    /// Brings the state up to date; returns the memories whose effect has changed. After a change of an old
    /// run it is computed from all runs, and if they are many, the next such change waits: until then,
    /// the state is the one before it.
    ///
    /// `similarity` is that of two memories' tasks, and `None` for a memory that it does not know.
    pub(crate) fn settle(
        &mut self,
        similarity: impl Fn(MemoryKey, MemoryKey) -> Option<f64>,
    ) -> Vec<(MemoryKey, Effect)> {
        let begun = Instant::now();
        let starts_over = self.outdated;
        if starts_over {
            if !self.pace.allows(begun) {
                return Vec::new();
            }
            self.attribution = Attribution::new();
            self.places.clear();
            self.keys.clear();
            self.last = None;
            self.outdated = false;
        }
        self.add_news(similarity);
        let mut changed = self.attribution.take_changed();
        if starts_over {
            let now = Instant::now();
            self.pace.took(self.runs.len(), now - begun, now);
            // Also those that no run was given any more.
            changed = (0..self.keys.len()).collect();
        }
        let effect = |place: usize| (self.keys[place], self.attribution.effect(place));
        changed.into_iter().map(effect).collect()
    }

    /// Adds the runs that the state does not cover.
    fn add_news(&mut self, similarity: impl Fn(MemoryKey, MemoryKey) -> Option<f64>) {
        let news = match self.last {
            Some(last) => self.runs.range(last + 1..),
            None => self.runs.range(..),
        };
        for (key, run) in news {
            let places = run.given.iter().filter_map(|id| {
                // A run before the one that stands speaks for the memory that it was given.
                let standing = self.merged.get(id).and_then(|into| self.places.get(into));
                standing.or_else(|| self.places.get(id)).copied()
            });
            let given = places.filter_map(|place| {
                let similarity = similarity(*key, self.keys[place])?;
                Some(Exposure {
                    memory: place,
                    similarity,
                })
            });
            let mut given: Vec<_> = given.collect();
            // Hashes come in another order in every process.
            given.sort_unstable_by_key(|given| given.memory);
            given.dedup_by_key(|given| given.memory);
            self.attribution
                .add(run.task, run.passed, run.weight, given);
            self.places.insert(run.memory, self.keys.len());
            self.keys.push(*key);
            self.last = Some(*key);
        }
    }

    /// The number of reviewed runs that were given memories, each by its weight.
    pub(crate) fn informed_runs(&self) -> f64 {
        self.attribution.informed_runs()
    }

    /// Whether there is such a memory.
    pub(crate) fn has(&self, key: MemoryKey) -> bool {
        self.runs.contains_key(&key)
    }

    /// Whether the state covers all runs.
    pub(crate) fn is_settled(&self) -> bool {
        !self.outdated
    }

    /// All runs that the state covers.
    pub(crate) fn tally(&self) -> PassCount {
        self.attribution.tally()
    }

    /// What is known about a memory.
    pub(crate) fn account(&self, key: MemoryKey) -> Option<Account> {
        let place = self.keys.binary_search(&key).ok()?;
        Some(self.attribution.account(place))
    }

    /// What is known about the memories.
    pub(crate) fn accounts(&self) -> HashMap<MemoryKey, Account> {
        let accounts = (0..).zip(&self.keys);
        accounts
            .map(|(place, key)| (*key, self.attribution.account(place)))
            .collect()
    }

    /// The memory used, approximately.
    pub(crate) fn bytes(&self) -> usize {
        let runs = self.runs.len() * size_of::<(MemoryKey, Run)>() + self.given * size_of::<u64>();
        let per_memory = size_of::<(u64, usize)>() * 2 + size_of::<MemoryKey>();
        runs + self.keys.len() * per_memory + self.attribution.bytes()
    }
}

/// How much a review counts: one with the default learning rate or a greater one in full, a lesser one in
/// proportion. So a limit on `alpha` also limits what a review does to the ranking.
fn weight(alpha: f64) -> f64 {
    (alpha / Review::DEFAULT_ALPHA).clamp(0.0, 1.0)
}

impl std::fmt::Debug for Credit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credit")
            .field("runs", &self.runs.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
impl Credit {
    /// The number of worlds that are still considered.
    pub(super) fn worlds(&self) -> usize {
        self.attribution.worlds()
    }
}
