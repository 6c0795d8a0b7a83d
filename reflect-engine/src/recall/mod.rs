//! Finds what fits a task: an index per project that follows the store, and the exact ranking over
//! what the index lets through.

mod explain;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
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
#[derive(Debug)]
pub(crate) struct Recall {
    shelves: Mutex<HashMap<ProjectId, Arc<Shelf>>>,
    /// What they may take together, in bytes.
    room: usize,
    /// Counts the uses of shelves.
    uses: AtomicU64,
}

#[derive(Debug)]
struct Shelf {
    /// When it was used last, as a number of uses.
    used: AtomicU64,
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
    pub(crate) fn new(room: usize) -> Self {
        Self {
            shelves: Mutex::default(),
            room,
            uses: AtomicU64::new(0),
        }
    }

    /// Lets go of the indexes that were not used for the longest time, until the others fit; the
    /// one of `kept` stays. A dropped one is built anew when it is asked for.
    fn make_room(&self, kept: &ProjectId) {
        let mut shelves = self.shelves();
        let mut taken: usize = shelves.values().map(|shelf| shelf.bytes()).sum();
        while taken > self.room {
            let others = shelves.iter().filter(|(project, _)| *project != kept);
            let oldest = others.min_by_key(|(_, shelf)| shelf.used.load(Ordering::Relaxed));
            let Some((oldest, bytes)) = oldest.map(|(id, shelf)| (id.clone(), shelf.bytes()))
            else {
                return;
            };
            tracing::debug!(project = %oldest, bytes, "an index makes room for others");
            shelves.remove(&oldest);
            taken = taken.saturating_sub(bytes);
        }
    }

    /// Drops what is known of a project.
    pub(crate) fn forget(&self, project: &ProjectId) {
        self.shelves().remove(project);
    }

    fn shelves(&self) -> std::sync::MutexGuard<'_, HashMap<ProjectId, Arc<Shelf>>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shelf(&self, project: &ProjectId, dims: usize) -> Arc<Shelf> {
        let mut shelves = self.shelves();
        // A model may have changed its dimensions: then what is known is of another space.
        if shelves
            .get(project)
            .is_some_and(|shelf| shelf.dims() != dims)
        {
            shelves.remove(project);
        }
        let shelf = shelves.entry(project.clone()).or_insert_with(|| {
            Arc::new(Shelf {
                used: AtomicU64::new(0),
                known: RwLock::new(Known {
                    index: Index::new(dims),
                    revision: Revision::default(),
                }),
                turn: tokio::sync::Mutex::default(),
            })
        });
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        shelf.used.store(now, Ordering::Relaxed);
        Arc::clone(shelf)
    }
}

impl Shelf {
    fn bytes(&self) -> usize {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.index.bytes_of_vectors()
    }

    fn dims(&self) -> usize {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.index.dims()
    }

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
    core.claim_embedder().await?;
    let known = core.recall.shelves().get(project).cloned();
    let since = known.as_ref().map(|shelf| shelf.revision());
    let since = since.unwrap_or_default();
    let embedder = core.embedder.id();
    // In most cases nothing happened, and then this is all.
    let news = core
        .store
        .memory_changes(project, embedder, since, 1)
        .await?;
    core.same_space(news.embedder.as_deref())?;
    if news.revision.epoch == 0 {
        core.recall.forget(project);
        return Ok(None);
    }
    let shelf = core.recall.shelf(project, core.embedder.dims());
    if !news.reset && news.changes.is_empty() && shelf.revision() == news.revision {
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
    core.recall.make_room(project);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use reflect_types::{CreateTrace, Review};

    #[tokio::test]
    async fn an_index_that_makes_room_is_built_again_when_it_is_asked_for() {
        let engine = Engine::builder().index_room(1).start().unwrap();
        let projects = ["a", "b"].map(ProjectId::from);
        for project in &projects {
            let run = CreateTrace::new("Refund order 7", "done");
            let stored = engine.create_trace(project, run, None).await.unwrap();
            let review = Review::pass();
            engine
                .review_trace(project, &stored.trace_id, review)
                .await
                .unwrap();
        }
        let query = QueryMemories::new("Refund order 8");
        for project in projects.iter().chain(&projects) {
            let found = engine.query_memories(project, &query).await.unwrap();
            assert_eq!(found.len(), 1);
            let shelves = engine.core().recall.shelves();
            assert_eq!(shelves.keys().collect::<Vec<_>>(), [project]);
        }
    }
}
