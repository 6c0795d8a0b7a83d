//! All memories of a project, ranked page by page, so that few of them are in memory at a time.

use std::collections::{HashMap, HashSet};

use reflect_types::{Explanation, MemoryId, QueryMemories};

use crate::learn::Account;
use crate::rank::{self, Candidate, Explained, Merit, Params};
use crate::store::{IndexedMemory, MemoryChange, MemoryChanges, MemoryKey};

/// The cosine similarity from which two tasks count as alike.
const SIMILAR: f64 = 0.5;

/// The memories that an explanation may show, and what it tells about the others.
pub(super) struct Survey {
    probe: Vec<f32>,
    query: QueryMemories,
    params: Params,
    accounts: HashMap<MemoryKey, Account>,
    /// The best, and those that the answer is chosen from.
    kept: HashMap<MemoryKey, IndexedMemory>,
    seen: HashSet<MemoryKey>,
    /// For each memory, the number of runs with a task like the query's that were given it, and how many
    /// of them passed. A memory stands for the run that it was learned from.
    similar: HashMap<MemoryId, (u32, u32)>,
}

impl Survey {
    pub(super) fn new(
        probe: Vec<f32>,
        query: &QueryMemories,
        params: Params,
        accounts: HashMap<MemoryKey, Account>,
    ) -> Self {
        Self {
            probe,
            query: query.clone(),
            params,
            accounts,
            kept: HashMap::new(),
            seen: HashSet::new(),
            similar: HashMap::new(),
        }
    }

    /// Adds a page of the memories.
    pub(super) fn add(&mut self, page: MemoryChanges) {
        if page.reset {
            self.kept.clear();
            self.seen.clear();
            self.similar.clear();
        }
        let mut new = HashSet::new();
        for change in page.changes {
            let (key, shown) = match change {
                MemoryChange::Put(memory) => (memory.key, memory.shown.then_some(memory)),
                MemoryChange::Gone(key) => (key, None),
            };
            if let Some(memory) = shown {
                if self.seen.insert(key) {
                    new.insert(key);
                }
                self.kept.insert(key, *memory);
            } else {
                self.seen.remove(&key);
                self.kept.remove(&key);
            }
        }
        let explained = self.explained();
        let similar = explained
            .iter()
            .filter(|run| run.ranked.similarity >= SIMILAR);
        for run in similar.filter(|run| new.contains(&run.ranked.key)) {
            let Some(run) = self.kept.get(&run.ranked.key) else {
                continue;
            };
            for id in &run.given {
                let (runs, passed) = self.similar.entry(id.clone()).or_default();
                *runs += 1;
                *passed += u32::from(run.passed);
            }
        }
        // Later pages can only push a memory further down, by as many as the answer holds at most.
        let most = Explanation::MAX_MEMORIES.saturating_add(self.params.limit);
        for (place, memory) in explained.iter().enumerate() {
            if place >= most && memory.mmr.is_none() {
                self.kept.remove(&memory.ranked.key);
            }
        }
    }

    /// The numbers of the memories: the answer in its order, then the others by score.
    pub(super) fn explained(&self) -> Vec<Explained> {
        let candidates: Vec<_> = self.kept.values().map(|one| self.candidate(one)).collect();
        let filter = self.query.metadata_filter.as_ref();
        rank::explain(&self.probe, &candidates, &self.params, filter)
    }

    /// The number of all memories.
    pub(super) fn considered(&self) -> usize {
        self.seen.len()
    }

    /// The number of runs with a task like the query's that were given a memory, and how many of them passed.
    pub(super) fn similar_runs(&self, id: &MemoryId) -> (u32, u32) {
        self.similar.get(id).copied().unwrap_or_default()
    }

    /// What the runs say about a memory.
    pub(super) fn account(&self, key: MemoryKey) -> Option<Account> {
        self.accounts.get(&key).copied()
    }

    /// A memory as the ranking sees it.
    fn candidate<'a>(&self, memory: &'a IndexedMemory) -> Candidate<'a> {
        Candidate {
            key: memory.key,
            vector: &memory.vector,
            merit: Merit::of(memory.q, self.accounts.get(&memory.key)),
            metadata: Some(&memory.metadata),
        }
    }
}
