//! The port behind which everything is kept, and the adapters that keep it.
//!
//! Every method is one transaction: it happens whole or not at all, and what it reports has
//! happened durably. A project is always a parameter; who may touch it is decided elsewhere.
//! One suite, behind the feature `conformance`, is passed by every adapter.

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{
    AuthoredReflection, DeletedTraces, IngestStatus, JudgeNote, ListTraces, MemoryId, Message,
    Metadata, ProjectId, ReviewMode, Skill, Trace, TraceId, TraceReceipt, Verdict,
};

use crate::error::{Error, Result};
use crate::model::Reflection;
use crate::record::{
    ArchivedTrace, ListMemories, MemoryHistory, MemoryPage, MemoryRecord, Stats, TracePage,
};

#[cfg(any(test, feature = "conformance"))]
#[doc(hidden)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::float_cmp,
    reason = "it is a test, which a store of another crate may run too"
)]
pub mod conformance;
mod memory;
mod restored;
mod sqlite;

pub use memory::InMemory;
pub use sqlite::Sqlite;

/// Names a memory inside its store, for the index: small, and never used twice.
pub type MemoryKey = i64;

/// Keeps traces, reviews, memories, their moves and the work that is left to do.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// The projects there are, by name.
    async fn projects(&self) -> Result<Vec<ProjectId>>;

    /// Makes a project that holds nothing yet; does nothing where there is one.
    async fn create_project(&self, project: &ProjectId) -> Result<()>;

    /// Removes a project with all it holds; tells whether there was one.
    async fn delete_project(&self, project: &ProjectId) -> Result<bool>;

    /// A project in numbers.
    async fn stats(&self, project: &ProjectId) -> Result<Stats>;

    /// Stores a run, and with it what its review asks for. A key seen before in this project
    /// stores nothing and gives the first receipt again. Where there is no such project, it is made
    /// only if the run says so; otherwise this is [`Error::NoProject`](crate::Error).
    async fn insert_trace(
        &self,
        project: &ProjectId,
        trace: NewTrace,
        intake: Intake,
    ) -> Result<TraceReceipt>;

    /// One run.
    async fn trace(&self, project: &ProjectId, id: &TraceId) -> Result<Option<Trace>>;

    /// Runs, newest first. A `before` that names no run is [`Error::Invalid`](crate::Error).
    async fn list_traces(&self, project: &ProjectId, list: &ListTraces) -> Result<TracePage>;

    /// Removes runs, their reviews and their jobs. The moves they caused stay. Their memories
    /// stay too, unless `with_memories`.
    async fn delete_traces(
        &self,
        project: &ProjectId,
        ids: &[TraceId],
        with_memories: bool,
    ) -> Result<DeletedTraces>;

    /// Passes a judgement: stores the memory, moves the utilities of what the run was given,
    /// appends the events, marks the run, and removes its job.
    async fn apply_review(
        &self,
        project: &ProjectId,
        id: &TraceId,
        basis: Basis,
        lesson: Lesson,
    ) -> Result<Applied>;

    /// Keeps a review from which nothing could be learned yet, on the same terms as
    /// [`apply_review`](Self::apply_review): its work is queued, or given up and can be
    /// [retried](Self::retry_trace). What an earlier review of the run has taught stays until then.
    async fn put_aside(
        &self,
        project: &ProjectId,
        id: &TraceId,
        basis: Basis,
        review: NewReview,
        setback: Setback,
    ) -> Result<Applied>;

    /// Takes a run's review back, whatever became of it: its memory and its moves go, later moves
    /// of the same memories are replayed, and the run waits for a review again. What a model had said
    /// stays noted on the run.
    async fn withdraw_review(&self, project: &ProjectId, id: &TraceId) -> Result<Withdrawn>;

    /// Hands out jobs that are due and that nobody holds, oldest first, until `lease.until`. Each
    /// counts as an attempt, also where the answer is lost on its way.
    async fn claim_jobs(&self, now: Timestamp, lease: &Lease, limit: usize) -> Result<Claims>;

    /// Holds a job for longer; tells whether the owner still has it.
    async fn renew_job(&self, lease: &Lease, project: &ProjectId, id: &TraceId) -> Result<bool>;

    /// Puts a job back or gives it up, with the reason. Does nothing for a job that the owner has
    /// lost.
    async fn fail_job(
        &self,
        owner: &str,
        project: &ProjectId,
        id: &TraceId,
        setback: Setback,
    ) -> Result<()>;

    /// Puts back what is held under this name, or one that begins with it, as if it had never been
    /// claimed.
    async fn release_jobs(&self, owner: &str) -> Result<()>;

    /// Queues the given-up review of a run again.
    async fn retry_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        now: Timestamp,
    ) -> Result<Retried>;

    /// What happened to the project's memories after `since`, oldest first and at most `limit`
    /// of them, as vectors of `embedder`. Within a project, revisions become visible in order.
    async fn memory_changes(
        &self,
        project: &ProjectId,
        embedder: &str,
        since: Revision,
        limit: usize,
    ) -> Result<Changes>;

    /// The vectors of these memories of the project, in any order; those that are gone, and those
    /// without a vector of `embedder`, are left out.
    async fn vectors(
        &self,
        project: &ProjectId,
        embedder: &str,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, Vec<f32>)>>;

    /// These memories of the project, in any order; those that are gone are left out.
    async fn memories(
        &self,
        project: &ProjectId,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>>;

    /// Memories, newest first, each with its moves. A `before` that names no memory is
    /// [`Error::Invalid`](crate::Error).
    async fn list_memories(&self, project: &ProjectId, list: &ListMemories) -> Result<MemoryPage>;

    /// One memory with all that moved it, oldest first.
    async fn memory(&self, project: &ProjectId, id: &MemoryId) -> Result<Option<MemoryHistory>>;

    /// The memories of passed, or of failed, runs that are worth the most: highest utility first,
    /// then most uses, then newest.
    async fn best_memories(
        &self,
        project: &ProjectId,
        success: bool,
        limit: usize,
    ) -> Result<Vec<MemoryRecord>>;

    /// Says that the store's memories are to be embedded by this embedder from now on.
    async fn claim_embedder(&self, embedder: &str) -> Result<()>;

    /// The embedder that the store's memories are to be embedded by, where one was claimed.
    async fn embedder(&self) -> Result<Option<String>>;

    /// Memories of any project whose vector is of another embedder than this, or of another length
    /// than `dims`; where that is 0, any length will do.
    async fn unembedded(
        &self,
        embedder: &str,
        dims: usize,
        limit: usize,
    ) -> Result<Vec<Unembedded>>;

    /// Gives memories their vectors; those that are gone are passed over.
    async fn set_vectors(&self, embedder: &str, vectors: Vec<(MemoryKey, Vec<f32>)>) -> Result<()>;

    /// The project's skill.
    async fn skill(&self, project: &ProjectId) -> Result<Option<Skill>>;

    /// Replaces the project's skill by one whose version is one higher; tells whether it was.
    /// Without a project there is nothing to replace: [`Error::NoProject`](crate::Error).
    async fn put_skill(&self, project: &ProjectId, skill: &Skill) -> Result<bool>;

    /// The project's runs with all that is kept of them, in the order they were stored, after the
    /// one named. An `after` that names no run is [`Error::Invalid`](crate::Error), no project
    /// [`Error::NoProject`](crate::Error).
    async fn archived_traces(
        &self,
        _project: &ProjectId,
        _after: Option<&TraceId>,
        _limit: usize,
    ) -> Result<Vec<ArchivedTrace>> {
        Err(no_archives())
    }

    /// The project's memories with all that moved them, in the order they were learned, after the
    /// one named. An `after` that names no memory is [`Error::Invalid`](crate::Error), no project
    /// [`Error::NoProject`](crate::Error).
    async fn archived_memories(
        &self,
        _project: &ProjectId,
        _after: Option<&MemoryId>,
        _limit: usize,
    ) -> Result<Vec<MemoryHistory>> {
        Err(no_archives())
    }

    /// Stores what an archive holds, under the ids it has there, and queues the reviews that wait.
    /// What the project has already stays as it is; tells how much it had not. A project that is not
    /// there is made only if asked for; otherwise this is [`Error::NoProject`](crate::Error).
    async fn restore(
        &self,
        _project: &ProjectId,
        _creates_project: bool,
        _pieces: Vec<Restored>,
        _now: Timestamp,
    ) -> Result<u64> {
        Err(no_archives())
    }

    /// Finishes what was begun and lets go of the files. Later calls may fail.
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}

/// A run to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTrace {
    /// Names the run.
    pub id: TraceId,
    /// What the agent was asked to do.
    pub task: String,
    /// All that was said and done.
    pub trajectory: Vec<Message>,
    /// The answer, or `""`.
    pub final_response: String,
    /// The memories the agent was given, as it named them.
    pub retrieved_memory_ids: Vec<MemoryId>,
    /// The model that did it.
    pub model: Option<String>,
    /// Anything else.
    pub metadata: Metadata,
    /// The policy or rules it worked under.
    pub reference_context: Option<String>,
    /// The caller's name for this very submission.
    pub idempotency_key: Option<String>,
    /// Whether the project is made where there is none.
    pub creates_project: bool,
    /// Now.
    pub created_at: Timestamp,
}

/// What comes with a run.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each call, and it is moved along"
)]
pub enum Intake {
    /// No judgement: it waits for one.
    Unreviewed,
    /// A judgement that has to be worked on: a job is queued.
    Queued(NewReview),
    /// A judgement and all that follows from it.
    Learned(Lesson),
}

/// A judgement to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReview {
    /// Names the review.
    pub id: String,
    /// Pass or fail.
    pub verdict: Verdict,
    /// What was wrong, or right.
    pub feedback: Option<String>,
    /// How far it moves the memories: settled when the review is given.
    pub alpha: f64,
    /// The reflection its author wrote.
    pub reflection: Option<AuthoredReflection>,
    /// Given with the run, or later.
    pub mode: ReviewMode,
    /// When it was given.
    pub created_at: Timestamp,
}

/// A judgement and the memory that follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesson {
    /// The judgement.
    pub review: NewReview,
    /// The memory.
    pub memory: NewMemory,
}

/// A memory to be stored. Its task and metadata are its run's, its success is the verdict's.
#[derive(Clone, Debug, PartialEq)]
pub struct NewMemory {
    /// Names the memory; where a review is replaced, its memory keeps the id it had.
    pub id: MemoryId,
    /// What was learned.
    pub reflection: Reflection,
    /// Names the space of the vector.
    pub embedder: String,
    /// The vector of the task.
    pub vector: Vec<f32>,
    /// When it was learned.
    pub created_at: Timestamp,
}

/// What must hold for a judgement to be passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The run's job is still held by this owner.
    Job {
        /// Who claimed it.
        owner: String,
    },
    /// The run has no judgement yet, or one whose work was given up.
    Fresh,
    /// The run was judged by this review, which the new one replaces, whatever became of it. Work on
    /// it that is under way comes to nothing.
    Replace {
        /// The review, which keeps its id.
        review_id: String,
        /// What it said when it was read: if it was replaced since, nothing happens.
        said: Said,
    },
}

/// The verdict of a review and its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// How the run ended.
    pub verdict: Verdict,
    /// What was said of it.
    pub feedback: Option<String>,
}

/// What became of a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was passed.
    Done,
    /// The job is gone, or another holds it.
    LeaseLost,
    /// There is no such run.
    NoTrace,
    /// The run's inline review is queued or being worked on.
    Working,
    /// The run was judged already.
    Reviewed(Verdict),
    /// The review to be replaced is not there (any more).
    NoReview,
    /// The review to be replaced was replaced by another.
    Changed,
}

/// Why the work on a review failed, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// The reason, for a person.
    pub error: String,
    /// When it is tried again.
    pub next: Next,
}

/// When the work on a review that failed is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Then: it is queued.
    At(Timestamp),
    /// Then, but the run says until then that it failed, so that nobody waits for it.
    FailedUntil(Timestamp),
    /// Not by itself: it has failed.
    Never,
}

impl Next {
    /// What the run says meanwhile.
    pub fn status(self) -> IngestStatus {
        match self {
            Self::At(_) => IngestStatus::Queued,
            Self::FailedUntil(_) | Self::Never => IngestStatus::Failed,
        }
    }

    /// When its job is due, where there is one.
    pub fn due(self) -> Option<Timestamp> {
        match self {
            Self::At(at) | Self::FailedUntil(at) => Some(at),
            Self::Never => None,
        }
    }
}

/// What became of a withdrawal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// The review is gone.
    Done,
    /// There is no such run.
    NoTrace,
    /// The run has no review.
    NoReview,
}

/// What became of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retried {
    /// The review is queued again.
    Done,
    /// There is no such run.
    NoTrace,
    /// Nothing was given up.
    NotFailed,
}

/// Who holds a job, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// A name nobody else uses.
    pub owner: String,
    /// When others may take the job over.
    pub until: Timestamp,
}

/// Jobs handed out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims {
    /// The jobs.
    pub jobs: Vec<Job>,
    /// When the next of the others is due.
    pub next_due: Option<Timestamp>,
}

/// A run whose review waits to be worked on.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The run's project.
    pub project: ProjectId,
    /// The run.
    pub trace: Trace,
    /// Its review.
    pub review: NewReview,
    /// How often it was tried, this time included.
    pub attempts: u32,
}

/// How far a project's memories have come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revision {
    /// Tells a project from one of the same name before it; 0 where there is none.
    pub epoch: i64,
    /// Counts the changes of its memories.
    pub number: i64,
}

/// What happened to a project's memories.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Whether these are all memories there are, and what was known before is void.
    pub reset: bool,
    /// What happened, oldest first.
    pub changes: Vec<Change>,
    /// Where to go on from.
    pub revision: Revision,
    /// Whether there is more already.
    pub more: bool,
    /// The embedder that the store's memories are to be embedded by, as [`Store::embedder`] tells it.
    pub embedder: Option<String>,
}

/// What happened to one memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// It is new, or something of it changed.
    Put {
        /// The memory.
        key: MemoryKey,
        /// Its vector.
        vector: Vec<f32>,
        /// Its utility.
        q: f64,
        /// Its metadata.
        metadata: Metadata,
    },
    /// It is gone, or has no vector in this space.
    Gone(MemoryKey),
}

/// A memory that waits for its vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unembedded {
    /// Names it inside the store.
    pub key: MemoryKey,
    /// The text to embed.
    pub task: String,
}

/// A piece of an archive, ready to be stored.
#[derive(Clone, Debug, PartialEq)]
pub enum Restored {
    /// A run and its review.
    Trace(Box<ArchivedTrace>),
    /// A memory and all that moved it.
    Memory {
        /// The memory.
        memory: Box<MemoryHistory>,
        /// Names the space of the vector.
        embedder: String,
        /// The vector of its task.
        vector: Vec<f32>,
    },
    /// The project's skill.
    Skill(Skill),
}

/// What a review says of the word of a model, as it is noted on a run when the review goes.
fn judge_note(feedback: Option<&str>, verdict: Verdict) -> Option<String> {
    let (mut note, _) = JudgeNote::read(feedback?)?;
    note.said.get_or_insert(verdict);
    Some(note.to_string())
}

fn no_archives() -> Error {
    Error::unavailable("this store keeps no archives: export from one that does, such as SQLite")
}

/// The ids without those named before.
pub(crate) fn distinct(ids: &[MemoryId]) -> Vec<&MemoryId> {
    let mut seen = std::collections::HashSet::new();
    ids.iter().filter(|id| seen.insert(*id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_one_in_memory_conforms() {
        conformance::all(&InMemory::new()).await;
    }

    #[tokio::test]
    async fn the_one_on_sqlite_conforms() {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(folder.path().join("reflect.db")).unwrap();
        conformance::all(&store).await;
        store.close().await.unwrap();
    }
}
