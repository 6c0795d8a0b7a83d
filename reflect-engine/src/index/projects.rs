//! The indexes of projects, within a memory budget.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use reflect_types::{MemoryId, Metadata, ProjectId};

use super::{Index, Shortlist};
use crate::credit::{Account, Credit, ReviewedRun};
use crate::error::{Error, Result};
use crate::rank::{Learned, Params};
use crate::store::{IndexedMemory, MemoryChange, MemoryChanges, MemoryKey, Revision};

/// The indexes of the projects queried last.
#[derive(Debug)]
pub(crate) struct Indexes {
    projects: Mutex<HashMap<ProjectId, Arc<ProjectIndex>>>,
    /// The memory budget in bytes.
    room: usize,
    /// Counts uses, to order indexes by their last one.
    uses: AtomicU64,
}

impl Indexes {
    pub(crate) fn new(room: usize) -> Self {
        Self {
            projects: Mutex::default(),
            room,
            uses: AtomicU64::new(0),
        }
    }

    /// The project's index, if one of these dimensions is loaded.
    pub(crate) fn get(&self, project: &ProjectId, dims: usize) -> Option<Arc<ProjectIndex>> {
        let index = self.projects().get(project).cloned();
        // A model may change its dimensions: an index of others is of another space.
        let index = index.filter(|index| index.dims() == dims);
        index.inspect(|index| self.mark_used(index))
    }

    /// The project's index, empty unless one of these dimensions is loaded.
    pub(crate) fn get_or_create(&self, project: &ProjectId, dims: usize) -> Arc<ProjectIndex> {
        let mut projects = self.projects();
        if projects
            .get(project)
            .is_some_and(|index| index.dims() != dims)
        {
            projects.remove(project);
        }
        let index = projects
            .entry(project.clone())
            .or_insert_with(|| Arc::new(ProjectIndex::new(dims)));
        self.mark_used(index);
        Arc::clone(index)
    }

    /// Drops the project's index.
    pub(crate) fn remove(&self, project: &ProjectId) {
        self.projects().remove(project);
    }

    /// Drops the least recently used indexes until the rest fits into the budget. The index of
    /// `kept` stays; dropped ones are rebuilt by the next query.
    pub(crate) fn make_room(&self, kept: &ProjectId) {
        let mut projects = self.projects();
        let mut taken: usize = projects.values().map(|index| index.bytes()).sum();
        while taken > self.room {
            let others = projects.iter().filter(|(project, _)| *project != kept);
            let oldest = others.min_by_key(|(_, index)| index.used.load(Ordering::Relaxed));
            let Some((oldest, bytes)) = oldest.map(|(id, index)| (id.clone(), index.bytes()))
            else {
                return;
            };
            tracing::debug!(project = %oldest, bytes, "an index is dropped to make room");
            projects.remove(&oldest);
            taken = taken.saturating_sub(bytes);
        }
    }

    /// The projects whose index is loaded.
    #[cfg(test)]
    pub(crate) fn loaded(&self) -> Vec<ProjectId> {
        self.projects().keys().cloned().collect()
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, Arc<ProjectIndex>>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn mark_used(&self, index: &ProjectIndex) {
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        index.used.store(now, Ordering::Relaxed);
    }
}

/// The index of one project, and how far it has followed the store.
#[derive(Debug)]
pub(crate) struct ProjectIndex {
    /// The number of its last use.
    used: AtomicU64,
    state: RwLock<State>,
    /// Held while the index catches up with the store, so that it happens once for all queries.
    pub(crate) catching_up: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct State {
    index: Index,
    credit: Credit,
    revision: Revision,
}

impl ProjectIndex {
    fn new(dims: usize) -> Self {
        Self {
            used: AtomicU64::new(0),
            state: RwLock::new(State {
                index: Index::new(dims),
                credit: Credit::new(),
                revision: Revision::default(),
            }),
            catching_up: tokio::sync::Mutex::default(),
        }
    }

    /// The store's revision that the index reflects.
    pub(crate) fn revision(&self) -> Revision {
        self.read().revision
    }

    /// The memories that may rank among the best, by parameters that depend on what was learned.
    pub(crate) fn shortlist(
        &self,
        probe: &[f32],
        params: impl FnOnce(Learned) -> Params,
        filter: Option<&Metadata>,
    ) -> Result<Shortlist> {
        let state = self.read();
        let params = params(Learned::from(&state.credit));
        let shortlist = state.index.shortlist(probe, &params, filter);
        shortlist.map_err(|error| Error::internal("the index refused the query", error))
    }

    /// Whether the effects of memories have to be computed again although the store has nothing new.
    pub(crate) fn is_due(&self) -> bool {
        self.read().credit.is_due()
    }

    /// What was learned about all memories.
    pub(crate) fn learned(&self) -> (Learned, HashMap<MemoryKey, Account>) {
        let state = self.read();
        (Learned::from(&state.credit), state.credit.accounts())
    }

    /// Applies changes read from the store.
    pub(crate) fn apply(&self, changes: MemoryChanges) {
        let mut guard = self.write();
        let State {
            index,
            credit,
            revision,
        } = &mut *guard;
        if changes.reset {
            *index = Index::new(index.dims());
            *credit = Credit::new();
        }
        for change in changes.changes {
            match change {
                MemoryChange::Put(memory) => put(index, credit, &memory),
                MemoryChange::Gone(key) => {
                    index.remove(key);
                    credit.remove(key);
                }
            }
        }
        if !changes.more {
            for (key, effect) in credit.settle(|a, b| index.similarity(a, b)) {
                index.set_effect(key, effect);
            }
        }
        *revision = changes.revision;
    }

    fn bytes(&self) -> usize {
        let state = self.read();
        state.index.bytes() + state.credit.bytes()
    }

    fn dims(&self) -> usize {
        self.read().index.dims()
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn put(index: &mut Index, credit: &mut Credit, memory: &IndexedMemory) {
    let IndexedMemory { key, vector, .. } = memory;
    if let Err(error) = index.upsert(*key, vector, memory.q, &memory.metadata) {
        tracing::warn!(key, %error, "a stored memory cannot be found by queries");
        index.remove(*key);
        credit.remove(*key);
        return;
    }
    let task = index.fingerprint_of(*key).unwrap_or_default();
    let given = memory.given.iter().map(MemoryId::as_str);
    let run = ReviewedRun {
        memory: memory.id.as_str(),
        task,
        passed: memory.passed,
        alpha: memory.alpha,
    };
    credit.put(*key, &run, given);
}
