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
use crate::rank::{self, Candidate, Params, Ranked};
use crate::store::{MemoryChange, MemoryChanges, MemoryKey, Revision};

pub(crate) use explain::explain;
pub use explain::{ExplainedMemory, Explanation};

/// How many changes are read from the store at a time. Tests turn many pages.
const PAGE: usize = if cfg!(test) { 8 } else { 4_096 };

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
    let (probe, shortlist) = computed(move || {
        let shortlist = shelf.shortlist(&probe, &params, filter.as_ref());
        (probe, shortlist)
    })
    .await?;
    let shortlist = shortlist?;
    // In rising order, as they lie in a file.
    let keys: Vec<_> = shortlist.iter().map(|(key, _)| *key).collect();
    let utilities: HashMap<_, _> = shortlist.into_iter().collect();
    let vectors = core
        .store
        .vectors(project, core.embedder.id(), &keys)
        .await?;
    let ranking = computed(move || ranked(&probe, &vectors, &utilities, &params)).await?;
    // Of the many that might have been among the best, only these are read.
    let keys: Vec<_> = ranking.iter().map(|place| place.key).collect();
    let records = core.store.memories(project, &keys).await?;
    let mut records: HashMap<_, _> = records.into_iter().collect();
    let memories = ranking.into_iter().filter_map(|place| {
        let mut record = records.remove(&place.key)?;
        // As it was ranked, should it have moved since.
        record.q_value = place.q;
        Some(record.into_memory(place.similarity, place.score))
    });
    Ok(memories.collect())
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

    /// The project's index, where it was asked for before.
    fn known(&self, project: &ProjectId, dims: usize) -> Option<Arc<Shelf>> {
        let shelf = self.shelves().get(project).cloned();
        // A model may have changed its dimensions: then what is known is of another space.
        let shelf = shelf.filter(|shelf| shelf.dims() == dims);
        shelf.inspect(|shelf| self.used(shelf))
    }

    /// The project's index; an empty one where there was none of these dimensions.
    fn shelf(&self, project: &ProjectId, dims: usize) -> Arc<Shelf> {
        let mut shelves = self.shelves();
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
        self.used(shelf);
        Arc::clone(shelf)
    }

    fn used(&self, shelf: &Shelf) {
        let now = self.uses.fetch_add(1, Ordering::Relaxed);
        shelf.used.store(now, Ordering::Relaxed);
    }
}

impl Shelf {
    fn bytes(&self) -> usize {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.index.bytes()
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

    /// What may be among the best, each with its utility.
    fn shortlist(
        &self,
        probe: &[f32],
        params: &Params,
        filter: Option<&Metadata>,
    ) -> Result<Vec<(MemoryKey, f64)>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let keys = known.index.shortlist(probe, params, filter);
        let keys = keys.map_err(|error| Error::internal("the index refused the query", error))?;
        let with_utility = keys
            .into_iter()
            .filter_map(|key| Some((key, known.index.q(key)?)));
        Ok(with_utility.collect())
    }

    fn apply(&self, changes: MemoryChanges) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if changes.reset {
            known.index = Index::new(known.index.dims());
        }
        for change in changes.changes {
            match change {
                MemoryChange::Put {
                    key,
                    vector,
                    q,
                    metadata,
                } => {
                    if let Err(error) = known.index.upsert(key, &vector, q, &metadata) {
                        tracing::warn!(key, %error, "a stored memory cannot be found by queries");
                        known.index.remove(key);
                    }
                }
                MemoryChange::Gone(key) => {
                    known.index.remove(key);
                }
            }
        }
        known.revision = changes.revision;
    }
}

/// The project's index, with all that was committed before the call; `None` where there is no such
/// project.
async fn caught_up(core: &Arc<Core>, project: &ProjectId) -> Result<Option<Arc<Shelf>>> {
    core.claim_embedder().await?;
    // Held on to from here: another query may let go of it to make room, and what is new is asked
    // for by what this one knows.
    let dims = core.embedder.dims();
    let known = core.recall.known(project, dims);
    let since = known.as_ref().map(|shelf| shelf.revision());
    // In most cases nothing happened, and then this is all.
    let news = core
        .store
        .memory_changes(project, core.embedder.id(), since.unwrap_or_default(), 1)
        .await?;
    core.same_space(news.embedder.as_deref())?;
    if news.revision.epoch == 0 {
        core.recall.forget(project);
        return Ok(None);
    }
    let shelf = match known {
        Some(shelf) if !news.reset && news.changes.is_empty() => return Ok(Some(shelf)),
        Some(shelf) => shelf,
        None => core.recall.shelf(project, dims),
    };
    // In a task of its own: a caller that turns away in the middle must not leave a page half
    // applied while the next one goes on.
    let work = catch_up(Arc::clone(core), project.clone(), Arc::clone(&shelf));
    contained(work).await?;
    core.recall.make_room(project);
    Ok(Some(shelf))
}

/// Applies all that the store has and the index has not.
async fn catch_up(core: Arc<Core>, project: ProjectId, shelf: Arc<Shelf>) -> Result<()> {
    let _turn = shelf.turn.lock().await;
    let embedder = core.embedder.id();
    let after = |revision| {
        core.store
            .memory_changes(&project, embedder, revision, PAGE)
    };
    let mut page = after(shelf.revision()).await?;
    loop {
        let (more, revision) = (page.more, page.revision);
        let applying = {
            let shelf = Arc::clone(&shelf);
            computed(move || shelf.apply(page))
        };
        if !more {
            return applying.await;
        }
        // The next page is read while this one is applied.
        let (applied, next) = tokio::join!(applying, after(revision));
        applied?;
        page = next?;
    }
}

async fn probe(core: &Arc<Core>, task: &str) -> Result<Vec<f32>> {
    let (core, task) = (Arc::clone(core), task.to_owned());
    let vectors = contained(async move { core.embed(&[&task]).await }).await?;
    Ok(vectors.into_iter().next().unwrap_or_default())
}

fn ranked(
    probe: &[f32],
    vectors: &[(MemoryKey, Vec<f32>)],
    utilities: &HashMap<MemoryKey, f64>,
    params: &Params,
) -> Vec<Ranked> {
    let candidates: Vec<_> = vectors
        .iter()
        .filter_map(|(key, vector)| {
            Some(Candidate {
                key: *key,
                vector,
                q: *utilities.get(key)?,
                metadata: None,
            })
        })
        .collect();
    rank::rank(probe, &candidates, params)
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll};

    use super::*;
    use crate::engine::Engine;
    use crate::store::Sqlite;
    use reflect_types::{CreateTrace, Review};

    async fn learn(engine: &Engine, project: &ProjectId, runs: usize) {
        for _ in 0..runs {
            let run = CreateTrace::new("Refund order 7", "done");
            let stored = engine.create_trace(project, run, None).await.unwrap();
            let judged = engine.review_trace(project, &stored.trace_id, Review::pass());
            judged.await.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn queries_that_take_each_other_s_room_find_everything() {
        let folder = tempfile::tempdir().unwrap();
        // On a file, so that a query has to wait while others go on.
        let store = Sqlite::open(folder.path().join("reflect.db")).unwrap();
        let builder = Engine::builder().store(Arc::new(store)).index_room(1);
        let engine = builder.start().unwrap();
        let projects = ["a", "b", "c"].map(ProjectId::from);
        for project in &projects {
            learn(&engine, project, 1).await;
        }
        let mut queries = tokio::task::JoinSet::new();
        for n in 0..12 {
            let (engine, project) = (engine.clone(), projects[n % 3].clone());
            queries.spawn(async move {
                let query = QueryMemories::new("Refund order 8");
                for _ in 0..50 {
                    let found = engine.query_memories(&project, &query).await.unwrap();
                    assert_eq!(found.len(), 1);
                }
            });
        }
        while let Some(done) = queries.join_next().await {
            done.unwrap();
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_query_that_is_given_up_halfway_leaves_the_index_whole() {
        const MEMORIES: usize = 5 * PAGE + 1;
        let engine = Engine::builder().start().unwrap();
        let project = ProjectId::from("a");
        learn(&engine, &project, MEMORIES).await;
        let mut query = QueryMemories::new("Refund order 8");
        query.limit = u32::try_from(MEMORIES).unwrap();
        query.mmr_lambda = 1.0;
        for polls in 0..12 {
            engine.core().recall.forget(&project);
            let mut given_up = Box::pin(engine.query_memories(&project, &query));
            for _ in 0..polls {
                let once = |cx: &mut Context<'_>| Poll::Ready(given_up.as_mut().poll(cx));
                if std::future::poll_fn(once).await.is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            drop(given_up);
            let found = engine.query_memories(&project, &query).await.unwrap();
            assert_eq!(found.len(), MEMORIES, "after {polls} polls");
        }
    }

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
