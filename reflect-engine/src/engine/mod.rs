//! One method per operation: it checks the request, asks the models, and hands the rest to the
//! store.

use std::path::PathBuf;
use std::sync::Arc;

use reflect_types::{
    CreateSkill, CreateTrace, DeleteTraces, DeletedProject, DeletedTraces, IDEMPOTENCY_KEY,
    IngestStatus, InvalidField, ListTraces, Memory, MemoryId, Message, ProjectId, QueryMemories,
    Review, ReviewMode, Skill, Trace, TraceId, TraceReceipt, Validate,
};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use uuid::Uuid;

mod builder;
mod call;
pub(crate) mod core;
mod review;

pub use builder::Builder;

use self::core::Core;
use crate::error::{Error, Result};
use crate::recall::{self, Explanation};
use crate::record::{ListMemories, MemoryHistory, MemoryPage, Stats, TracePage};
use crate::store::{Intake, NewReview, NewTrace, Retried, Sqlite};
use crate::{ingest, skill};

/// The longest idempotency key.
const MAX_KEY: usize = 255;

/// Records runs, learns from their reviews and finds what fits a task. Clones share one engine.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    /// Whether this handle makes the projects that it writes to.
    creates_projects: bool,
}

struct Shared {
    core: Arc<Core>,
    background: Mutex<Vec<JoinHandle<()>>>,
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The background work holds the core, not this: it ends with the last handle.
        self.core.stopping.send_replace(true);
    }
}

impl Engine {
    /// Sets up an engine.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// An engine on one SQLite file, made where there is none, with the defaults that need no key,
    /// server or download. Call it inside a tokio runtime, on which the engine then lives.
    pub async fn open_sqlite(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        let opened = self::core::computed(move || Sqlite::open(path)).await?;
        Self::builder().store(Arc::new(opened?)).start()
    }

    /// The same engine for a caller that may not make projects: what it would write to a project
    /// that is not there is refused ([`Error::NoProject`]), also where that was deleted meanwhile.
    #[must_use]
    pub fn in_existing_projects(&self) -> Self {
        Self {
            creates_projects: false,
            ..self.clone()
        }
    }

    /// The memories that rank best for a task, best first.
    pub async fn query_memories(
        &self,
        project: &ProjectId,
        query: &QueryMemories,
    ) -> Result<Vec<Memory>> {
        let core = self.checked(project, query)?;
        recall::query(core, project, query).await
    }

    /// Why a query answers what it answers: every memory with its numbers.
    pub async fn explain(&self, project: &ProjectId, query: &QueryMemories) -> Result<Explanation> {
        let core = self.checked(project, query)?;
        recall::explain(core, project, query).await
    }

    /// Stores a run. With a review it is queued and becomes a memory in the background, unless the
    /// review brings its own reflection: then the memory is there at once.
    ///
    /// The same `idempotency_key` again stores nothing and gives the first receipt again, whatever
    /// became of the run and even if the rest of the request is another.
    pub async fn create_trace(
        &self,
        project: &ProjectId,
        trace: CreateTrace,
        idempotency_key: Option<&str>,
    ) -> Result<TraceReceipt> {
        let core = self.checked(project, &trace)?;
        idempotency_key.map_or(Ok(()), usable_key)?;
        let (new, review) = self.intake(trace, idempotency_key);
        let intake = match review {
            None => Intake::Unreviewed,
            Some(review) if review.reflection.is_some() => {
                let lesson = ingest::authored(core, &new.task, &review).await;
                // An embedder that is away must not cost the run: then it is done later.
                match lesson {
                    Ok(lesson) => Intake::Learned(lesson),
                    Err(_) => Intake::Queued(review),
                }
            }
            Some(review) => Intake::Queued(review),
        };
        let queued = matches!(intake, Intake::Queued(_));
        let receipt = core.store.insert_trace(project, new, intake).await?;
        if queued {
            core.work.notify_one();
        }
        Ok(receipt)
    }

    /// One run.
    pub async fn get_trace(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        let core = self.checked(project, id)?;
        let found = core.store.trace(project, id).await?;
        found.ok_or_else(|| no_trace(id))
    }

    /// Runs, newest first.
    pub async fn list_traces(&self, project: &ProjectId, list: &ListTraces) -> Result<TracePage> {
        let core = self.checked(project, list)?;
        core.store.list_traces(project, list).await
    }

    /// Queues the review of a run again whose work was given up.
    pub async fn retry_trace(&self, project: &ProjectId, id: &TraceId) -> Result<TraceReceipt> {
        let core = self.checked(project, id)?;
        match core.store.retry_trace(project, id, core.now()).await? {
            Retried::Done => {
                core.work.notify_one();
                Ok(TraceReceipt {
                    trace_id: id.clone(),
                    ingest_status: IngestStatus::Queued,
                })
            }
            Retried::NoTrace => Err(no_trace(id)),
            Retried::NotFailed => Err(Error::Conflict(format!(
                "the work on trace `{id}` has not failed: there is nothing to retry"
            ))),
        }
    }

    /// Removes runs. What was learned from them stays, unless the request says otherwise.
    pub async fn delete_traces(
        &self,
        project: &ProjectId,
        delete: &DeleteTraces,
    ) -> Result<DeletedTraces> {
        let core = self.checked(project, delete)?;
        let DeleteTraces {
            trace_ids,
            delete_memories,
        } = delete;
        core.store
            .delete_traces(project, trace_ids, *delete_memories)
            .await
    }

    /// Makes a project that holds nothing yet; does nothing where there is one. Whoever writes to a
    /// project makes it anyway, unless through [`in_existing_projects`](Self::in_existing_projects).
    pub async fn create_project(&self, project: &ProjectId) -> Result<()> {
        let core = self.checked(project, project)?;
        core.store.create_project(project).await
    }

    /// The projects there are, by name.
    pub async fn list_projects(&self) -> Result<Vec<ProjectId>> {
        let core = self.core();
        core.open()?;
        core.store.projects().await
    }

    /// Removes a project with all it holds.
    pub async fn delete_project(&self, project: &ProjectId) -> Result<DeletedProject> {
        let core = self.checked(project, project)?;
        let deleted = core.store.delete_project(project).await?;
        core.recall.forget(project);
        Ok(DeletedProject {
            project_id: Some(project.clone()),
            deleted,
        })
    }

    /// The project's skill.
    pub async fn get_skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        let core = self.checked(project, project)?;
        core.store.skill(project).await
    }

    /// Writes the project's skill anew, from the memories that are worth the most.
    pub async fn create_skill(&self, project: &ProjectId, create: &CreateSkill) -> Result<Skill> {
        let core = Arc::clone(self.checked(project, create)?);
        let (project, create) = (project.clone(), create.clone());
        // To its end, also if the caller goes away: a model may have been asked, and paid.
        self::core::contained(async move { skill::create(&core, &project, &create).await }).await
    }

    /// Memories, newest first, each with all that moved it.
    pub async fn list_memories(
        &self,
        project: &ProjectId,
        list: &ListMemories,
    ) -> Result<MemoryPage> {
        let core = self.checked(project, list)?;
        core.store.list_memories(project, list).await
    }

    /// One memory with all that moved it.
    pub async fn get_memory(&self, project: &ProjectId, id: &MemoryId) -> Result<MemoryHistory> {
        let core = self.checked(project, id)?;
        let found = core.store.memory(project, id).await?;
        found.ok_or_else(|| Error::not_found("memory", id.as_str()))
    }

    /// The project in numbers.
    pub async fn stats(&self, project: &ProjectId) -> Result<Stats> {
        let core = self.checked(project, project)?;
        core.store.stats(project).await
    }

    /// Ends the engine: work in progress is finished, or handed back if it takes too long; then
    /// the store is closed. Calls on any clone are refused from now on.
    pub async fn shutdown(&self) -> Result<()> {
        self.core().stopping.send_replace(true);
        // Held to the end: a second caller must not close the store under what still works.
        let mut background = self.shared.background.lock().await;
        while let Some(task) = background.last_mut() {
            // A task that panicked has ended too.
            let _ = task.await;
            background.pop();
        }
        let mut under_way = self.core().under_way.subscribe();
        // An error would mean that the core is gone, which is held here.
        let _ = under_way.wait_for(|count| *count == 0).await;
        self.core().store.close().await
    }

    pub(super) fn new(core: Arc<Core>, background: Vec<JoinHandle<()>>) -> Self {
        let background = Mutex::new(background);
        Self {
            shared: Arc::new(Shared { core, background }),
            creates_projects: true,
        }
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.shared.core
    }

    pub(crate) fn checked(
        &self,
        project: &ProjectId,
        request: &impl Validate,
    ) -> Result<&Arc<Core>> {
        self.core().open()?;
        project.validate()?;
        request.validate()?;
        Ok(self.core())
    }

    /// Whether what is written to a project that is not there makes it.
    pub(crate) fn creates_projects(&self) -> bool {
        self.creates_projects
    }

    /// The rows of a run and of its review.
    fn intake(&self, trace: CreateTrace, key: Option<&str>) -> (NewTrace, Option<NewReview>) {
        let now = self.core().now();
        let trajectory = trace.trajectory.into_messages();
        let final_response = trace
            .final_response
            .unwrap_or_else(|| Message::final_response(&trajectory));
        let review = trace
            .review
            .map(|review| self.review(review, ReviewMode::Inline));
        let new = NewTrace {
            id: TraceId::new(new_id()),
            task: trace.task,
            trajectory,
            final_response,
            retrieved_memory_ids: trace.retrieved_memory_ids,
            model: trace.model,
            metadata: trace.metadata,
            reference_context: trace.reference_context,
            idempotency_key: key.map(str::to_owned),
            creates_project: self.creates_projects,
            created_at: now,
        };
        (new, review)
    }

    fn review(&self, review: Review, mode: ReviewMode) -> NewReview {
        NewReview {
            id: new_id(),
            verdict: review.result,
            feedback: review.feedback_text,
            alpha: review.alpha.unwrap_or(self.core().alpha),
            reflection: review.reflection,
            mode,
            created_at: self.core().now(),
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("embedder", &self.core().embedder.id())
            .field("reflector", &self.core().reflector.id())
            .finish_non_exhaustive()
    }
}

/// An id that sorts by the time it was made.
pub(crate) fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// A key that is empty names nothing, and would make one run of all.
fn usable_key(key: &str) -> Result<()> {
    if !key.trim().is_empty() && key.chars().count() <= MAX_KEY {
        return Ok(());
    }
    let problem = format!("must have from 1 to {MAX_KEY} characters: send a new UUID for each run");
    Err(InvalidField::new(IDEMPOTENCY_KEY, problem).into())
}

fn no_trace(id: &TraceId) -> Error {
    Error::not_found("trace", id.as_str())
}
