//! The indexes of projects, within a memory budget.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use reflect_types::{MemoryId, Metadata, ProjectId, Ranking};

use super::members::Members;
use super::{Codes, Index, Shortlist};
use crate::credit::{Account, Credit, ReviewedRun, Unread};
use crate::error::{Error, Result};
use crate::hygiene::Upkeep;
use crate::rank::{Learned, Params};
use crate::store::{
    AsideWrite, IndexedMemory, MemoryChange, MemoryChanges, MemoryKey, Nearest, RecallSettings,
    Revision,
};

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

    /// The memory budget in bytes.
    pub(crate) fn room(&self) -> usize {
        self.room
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

    /// The number of loaded indexes, their bytes, and the changes that they lack, by the current
    /// revisions of projects.
    pub(crate) fn measure(&self, revisions: &[(ProjectId, Revision)]) -> (u64, u64, u64) {
        let projects = self.projects();
        let bytes: usize = projects.values().map(|index| index.bytes()).sum();
        let lags = revisions.iter().map(|(project, current)| {
            let Some(index) = projects.get(project) else {
                return 0;
            };
            let known = index.revision();
            let known = if known.epoch == current.epoch {
                known.number
            } else {
                0
            };
            u64::try_from(current.number - known).unwrap_or(0)
        });
        (projects.len() as u64, bytes as u64, lags.sum())
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
    /// The memories that may be part of an answer.
    index: Members,
    /// The others. Their runs are evidence all the same.
    hidden: Members,
    credit: Credit,
    /// What queries know of `credit`, which may be at work.
    learned: Learned,
    upkeep: Upkeep,
    settings: RecallSettings,
    revision: Revision,
}

impl State {
    fn new(index: Index, settings: RecallSettings) -> Self {
        let credit = Credit::new();
        Self {
            hidden: Members::Held(index.empty_like()),
            index: Members::Held(index),
            learned: Learned::from(&credit),
            credit,
            upkeep: Upkeep::new(&settings),
            settings,
            revision: Revision::default(),
        }
    }

    fn put(&mut self, memory: &IndexedMemory) {
        let (home, other) = if memory.shown {
            (&mut self.index, &mut self.hidden)
        } else {
            (&mut self.hidden, &mut self.index)
        };
        let IndexedMemory { key, vector, .. } = memory;
        let moved = other.merit(*key);
        other.remove(*key);
        if let Err(error) = home.upsert(*key, vector, memory.q, &memory.metadata) {
            tracing::warn!(key, %error, "a stored memory cannot be found by queries");
            self.remove(*key);
            return;
        }
        if let Some(merit) = moved {
            home.set_effects(&[(*key, merit.effect)]);
        }
        let task = home.fingerprint_of(*key).unwrap_or_default();
        let run = ReviewedRun {
            memory: memory.id.as_str(),
            task,
            passed: memory.passed,
            alpha: memory.alpha,
        };
        let given = memory.given.iter().map(MemoryId::as_str);
        self.credit.put(*key, &run, given);
        self.upkeep.put(memory, task);
    }

    fn remove(&mut self, key: MemoryKey) {
        self.index.remove(key);
        self.hidden.remove(key);
        self.credit.remove(key);
        self.upkeep.remove(key);
    }

    /// Brings what is learned from the runs up to date with this revision. Where vectors have to be read
    /// first, the next call goes on from there.
    fn settle(&mut self, codes: &Codes, revision: Revision) -> Result<(), Unread> {
        let similarity = |a, b| match (&self.index, &self.hidden) {
            (Members::Held(index), Members::Held(hidden)) => {
                Ok(Index::similarity([index, hidden], a, b))
            }
            _ => codes.similarity(a, b),
        };
        let credit = &self.credit;
        let merged = self.upkeep.merge(similarity, |key| credit.has(key))?;
        self.credit.merge(&merged);
        let effects = self.credit.settle(similarity)?;
        self.index.set_effects(&effects);
        self.hidden.set_effects(&effects);
        self.index.sort();
        for (key, _) in effects {
            self.upkeep.touch(key);
        }
        self.learned = Learned::from(&self.credit);
        if self.credit.is_settled() {
            self.upkeep.settle(&self.credit);
        }
        self.revision = revision;
        Ok(())
    }

    /// Leaves the vectors to the store if they take more than this room.
    fn keep_within(&mut self, room: usize) {
        if self.index.bytes() + self.hidden.bytes() > room {
            self.index.list();
            self.hidden.list();
        }
    }
}

impl ProjectIndex {
    fn new(dims: usize) -> Self {
        Self {
            used: AtomicU64::new(0),
            state: RwLock::new(State::new(Index::new(dims), RecallSettings::default())),
            catching_up: tokio::sync::Mutex::default(),
        }
    }

    /// The store's revision that the index reflects.
    pub(crate) fn revision(&self) -> Revision {
        self.read().revision
    }

    /// The memories that may rank among the best, by parameters that depend on what was learned; `None` if
    /// the store has to propose more of them first.
    pub(crate) fn shortlist(
        &self,
        probe: &[f32],
        params: impl FnOnce(Learned) -> Params,
        filter: Option<&Metadata>,
        nearest: &Nearest,
    ) -> Result<Option<Shortlist>> {
        let state = self.read();
        let params = params(state.learned);
        let shortlist = state.index.shortlist(probe, &params, filter, nearest);
        shortlist.map_err(|error| Error::internal("the index refused the query", error))
    }

    /// Whether its vectors are in the store only.
    pub(crate) fn is_listed(&self) -> bool {
        self.read().index.are_listed()
    }

    /// The number of memories.
    pub(crate) fn len(&self) -> usize {
        self.read().index.len()
    }

    /// Whether the effects of memories have to be computed again although the store has nothing new.
    pub(crate) fn is_due(&self) -> bool {
        self.read().credit.is_due()
    }

    /// What was learned about all memories.
    pub(crate) fn learned(&self) -> (Learned, HashMap<MemoryKey, Account>) {
        let state = self.read();
        (state.learned, state.credit.accounts())
    }

    /// Applies changes read from the store, within a room for vectors if there is one. After the last
    /// change, vectors may have to be read for [`settle`](Self::settle).
    pub(crate) fn apply(&self, changes: MemoryChanges, room: Option<usize>) -> Result<(), Unread> {
        let mut state = self.write();
        if changes.reset {
            *state = State::new(Index::new(state.index.dims()), state.settings.clone());
        }
        for change in changes.changes {
            match change {
                MemoryChange::Put(memory) => state.put(&memory),
                MemoryChange::Gone(key) => state.remove(key),
            }
        }
        if let Some(room) = room {
            state.keep_within(room);
        }
        if changes.more {
            state.revision = changes.revision;
            return Ok(());
        }
        state.settle(&Codes::default(), changes.revision)
    }

    /// Goes on with learning from the changes up to this revision.
    pub(crate) fn settle(&self, codes: &Codes, revision: Revision) -> Result<(), Unread> {
        self.write().settle(codes, revision)
    }

    /// Whether it follows these settings of the project.
    pub(crate) fn has_settings(&self, settings: &RecallSettings) -> bool {
        self.read().settings == *settings
    }

    /// How memories are ranked unless a query says otherwise.
    pub(crate) fn ranking(&self) -> Option<Ranking> {
        self.read().settings.ranking.clone()
    }

    /// Forgets everything, because the project has other settings.
    pub(crate) fn start_over(&self, settings: RecallSettings) {
        let mut state = self.write();
        *state = State::new(Index::new(state.index.dims()), settings);
    }

    /// The decisions about memories that the store does not have yet.
    pub(crate) fn decisions(&self) -> Vec<AsideWrite> {
        self.read().upkeep.decisions()
    }

    fn bytes(&self) -> usize {
        let state = self.read();
        let vectors = state.index.bytes() + state.hidden.bytes();
        vectors + state.credit.bytes() + state.upkeep.bytes()
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
