//! Finds what fits a task: an index per project that follows the store, and the exact ranking over
//! what the index lets through.

mod explain;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use reflect_types::{Memory, Metadata, ProjectId, QueryMemories};

use crate::engine::core::{Core, computed, contained};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::rank::{self, Candidate, Params};
use crate::store::{Change, Changes, MemoryKey, Revision, StoredMemory};

pub(crate) use explain::explain;
pub use explain::{ExplainedMemory, Explanation};

/// How many changes are read from the store at a time.
const PAGE: usize = 4_096;

/// The indexes of the projects that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Recall {
    shelves: Mutex<HashMap<ProjectId, Arc<Shelf>>>,
}

#[derive(Debug)]
struct Shelf {
    known: RwLock<Known>,
    /// Whoever holds it brings the index up to date; the others wait instead of doing the same.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug)]
struct Known {
    index: Index,
    revision: Revision,
}

/// The memories that rank best, best first.
pub(crate) async fn query(
    core: &Arc<Core>,
    project: &ProjectId,
    query: &QueryMemories,
) -> Result<Vec<Memory>> {
    let probe = probe(core, &query.task).await?;
    let Some(shelf) = caught_up(core, project).await? else {
        return Ok(Vec::new());
    };
    let params = Params::new(query, core.floor);
    let filter = query.metadata_filter.clone();
    let (probe, keys) = computed(move || {
        let keys = shelf.shortlist(&probe, &params, filter.as_ref());
        (probe, keys)
    })
    .await?;
    let found = core
        .store
        .memories(project, core.embedder.id(), &keys?)
        .await?;
    computed(move || ranked(&probe, found, &params)).await
}

impl Recall {
    /// Drops what is known of a project.
    pub(crate) fn forget(&self, project: &ProjectId) {
        self.shelves().remove(project);
    }

    fn shelves(&self) -> std::sync::MutexGuard<'_, HashMap<ProjectId, Arc<Shelf>>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelf(&self, project: &ProjectId, dims: usize) -> Arc<Shelf> {
        let mut shelves = self.shelves();
        let shelf = shelves.entry(project.clone()).or_insert_with(|| {
            Arc::new(Shelf {
                known: RwLock::new(Known {
                    index: Index::new(dims),
                    revision: Revision::default(),
                }),
                turn: tokio::sync::Mutex::default(),
            })
        });
        Arc::clone(shelf)
    }
}

impl Shelf {
    fn revision(&self) -> Revision {
        self.known
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .revision
    }

    fn shortlist(
        &self,
        probe: &[f32],
        params: &Params,
        filter: Option<&Metadata>,
    ) -> Result<Vec<MemoryKey>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let keys = known.index.shortlist(probe, params, filter);
        keys.map_err(|error| Error::internal("the index refused the query", error))
    }

    fn apply(&self, changes: Changes) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if changes.reset {
            known.index = Index::new(known.index.dims());
        }
        for change in changes.changes {
            match change {
                Change::Put {
                    key,
                    vector,
                    q,
                    metadata,
                } => {
                    if let Err(error) = known.index.upsert(key, &vector, q, metadata) {
                        tracing::warn!(key, %error, "a stored memory cannot be found by queries");
                        known.index.remove(key);
                    }
                }
                Change::Gone(key) => {
                    known.index.remove(key);
                }
            }
        }
        known.revision = changes.revision;
    }
}

/// The project's index, with all that was committed before the call; `None` where there is no such
/// project.
async fn caught_up(core: &Core, project: &ProjectId) -> Result<Option<Arc<Shelf>>> {
    core.same_space().await?;
    let known = core.recall.shelves().get(project).cloned();
    let since = known.as_ref().map(|shelf| shelf.revision());
    let since = since.unwrap_or_default();
    let embedder = core.embedder.id();
    // In most cases nothing happened, and then this is all.
    let news = core
        .store
        .memory_changes(project, embedder, since, 1)
        .await?;
    if news.revision.epoch == 0 {
        core.recall.forget(project);
        return Ok(None);
    }
    let shelf = core.recall.shelf(project, core.embedder.dims());
    if !news.reset && news.changes.is_empty() {
        return Ok(Some(shelf));
    }
    let turn = shelf.turn.lock().await;
    let after = |revision| core.store.memory_changes(project, embedder, revision, PAGE);
    let mut page = after(shelf.revision()).await?;
    loop {
        let (more, revision) = (page.more, page.revision);
        let applying = {
            let shelf = Arc::clone(&shelf);
            computed(move || shelf.apply(page))
        };
        if !more {
            applying.await?;
            break;
        }
        // The next page is read while this one is applied.
        let (applied, next) = tokio::join!(applying, after(revision));
        applied?;
        page = next?;
    }
    drop(turn);
    Ok(Some(shelf))
}

async fn probe(core: &Arc<Core>, task: &str) -> Result<Vec<f32>> {
    let (core, task) = (Arc::clone(core), task.to_owned());
    let vectors = contained(async move { core.embed(&[&task]).await }).await?;
    Ok(vectors.into_iter().next().unwrap_or_default())
}

fn ranked(probe: &[f32], found: Vec<StoredMemory>, params: &Params) -> Vec<Memory> {
    let candidates: Vec<_> = found
        .iter()
        .map(|memory| Candidate {
            key: memory.key,
            vector: &memory.vector,
            q: memory.record.q_value,
            metadata: None,
        })
        .collect();
    let ranking = rank::rank(probe, &candidates, params);
    drop(candidates);
    let mut records: HashMap<_, _> = found.into_iter().map(|m| (m.key, m.record)).collect();
    let memories = ranking.iter().filter_map(|place| {
        let record = records.remove(&place.key)?;
        Some(record.into_memory(place.similarity, place.score))
    });
    memories.collect()
}
