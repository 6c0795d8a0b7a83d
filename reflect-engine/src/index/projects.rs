//! The indexes of projects, within a memory budget.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reflect_types::ProjectId;

use super::project::ProjectIndex;
use crate::store::Revision;

/// The indexes of the projects queried last.
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
