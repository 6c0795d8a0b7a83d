//! The indexes of projects, within a memory budget.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use reflect_types::{Metadata, ProjectId, Ranking};

use super::saving::{Due, Saved, Saving};
use super::state::State;
use super::{Codes, Index, Shortlist};
use crate::credit::{Account, Unread};
use crate::error::{Error, Result};
use crate::rank::{Learned, Params};
use crate::snapshot::Joiner;
use crate::store::{
    AsideWrite, MemoryChange, MemoryChanges, MemoryKey, Nearest, RecallSettings, Revision,
    VectorSpace,
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
        let index = index.filter(|index| index.dims == dims);
        index.inspect(|index| self.mark_used(index))
    }

    /// The project's index, empty unless one of these dimensions is loaded.
    pub(crate) fn get_or_create(&self, project: &ProjectId, dims: usize) -> Arc<ProjectIndex> {
        let mut projects = self.projects();
        if projects
            .get(project)
            .is_some_and(|index| index.dims != dims)
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
        let projects = self.projects().clone();
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
    saving: Mutex<Saving>,
    dims: usize,
    /// The memory used after the last change, readable without the lock of the state.
    bytes: AtomicUsize,
}

/// The number of memories from which on an index is saved. Fewer are read in a moment. Tests save few.
const LEAST_SAVED: usize = if cfg!(test) { 16 } else { 50_000 };

impl ProjectIndex {
    fn new(dims: usize) -> Self {
        Self {
            used: AtomicU64::new(0),
            state: RwLock::new(State::new(Index::new(dims), RecallSettings::default())),
            catching_up: tokio::sync::Mutex::default(),
            saving: Mutex::default(),
            dims,
            bytes: AtomicUsize::new(0),
        }
    }

    /// Whether it has not followed the store yet.
    pub(crate) fn is_new(&self) -> bool {
        self.revision() == Revision::default()
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

    /// What was learned about these memories.
    pub(crate) fn learned_of(&self, keys: &[MemoryKey]) -> (Learned, HashMap<MemoryKey, Account>) {
        let state = self.read();
        let account = |key: &MemoryKey| Some((*key, state.credit.account(*key)?));
        (state.learned, keys.iter().filter_map(account).collect())
    }

    /// Applies changes read from the store, within a room for vectors if there is one. After the last
    /// change, vectors may have to be read for [`settle`](Self::settle).
    pub(crate) fn apply(&self, changes: MemoryChanges, room: Option<usize>) -> Result<(), Unread> {
        let mut state = self.write();
        let is_gone = |change: &MemoryChange| matches!(change, MemoryChange::Gone(_));
        let gone = changes.changes.iter().any(is_gone);
        self.saving().changed(changes.changes.len(), gone);
        if changes.reset {
            *state = State::new(Index::new(self.dims), state.settings.clone());
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
        let applied = if changes.more {
            state.revision = changes.revision;
            Ok(())
        } else {
            state.settle(&Codes::default(), changes.revision)
        };
        self.measure(&state);
        applied
    }

    /// Goes on with learning from the changes up to this revision.
    pub(crate) fn settle(&self, codes: &Codes, revision: Revision) -> Result<(), Unread> {
        let mut state = self.write();
        let settled = state.settle(codes, revision);
        self.measure(&state);
        settled
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
        *state = State::new(Index::new(self.dims), settings);
    }

    /// The decisions about memories that the store does not have yet.
    pub(crate) fn decisions(&self) -> Vec<AsideWrite> {
        let decisions = self.read().upkeep.decisions().into_iter();
        let stored = decisions.map(|decision| AsideWrite {
            key: decision.key,
            status: decision.hidden_as,
            merged_into: decision.merged_into,
            reason: decision.reason,
        });
        stored.collect()
    }

    /// Why a snapshot is due; `None` if it is not, or is being written. If it is, the caller saves it, and calls
    /// [`end_saving`](Self::end_saving).
    pub(crate) fn begin_saving(&self) -> Option<Due> {
        let state = self.read();
        let memories = state.index.len() + state.hidden.len();
        if memories < LEAST_SAVED || !state.is_settled() {
            return None;
        }
        self.saving().begin(memories, Instant::now())
    }

    /// What became of the snapshot that was due.
    pub(crate) fn end_saving(&self, saved: Saved) {
        self.saving().end(saved);
    }

    /// The parts of a snapshot, with vectors of this space, and its revision; `None` if something is left to be
    /// decided.
    pub(crate) fn save(&self, space: &VectorSpace) -> io::Result<Option<(Revision, Vec<Vec<u8>>)>> {
        let state = self.read();
        let parts = state.save(space)?;
        Ok(parts.map(|parts| (state.revision, parts)))
    }

    /// Loads a snapshot with vectors of this space, and of the same settings. On an error the index is unchanged.
    pub(crate) fn load(
        &self,
        space: &VectorSpace,
        settings: RecallSettings,
        input: Joiner,
    ) -> io::Result<()> {
        let state = State::load(space, settings, input)?;
        self.measure(&state);
        *self.write() = state;
        Ok(())
    }

    fn measure(&self, state: &State) {
        let vectors = state.index.bytes() + state.hidden.bytes();
        let bytes = vectors + state.credit.bytes() + state.upkeep.bytes();
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    fn saving(&self) -> MutexGuard<'_, Saving> {
        self.saving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}
