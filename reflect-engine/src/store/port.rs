use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{
    ChangeRecord, DeletedTraces, KeyId, ListMemories, ListMemoryChanges, ListTraces, ListUndos,
    MemoryHistory, MemoryId, MemoryRecord, MemoryUpdate, Page, ProjectId, ProjectSettings,
    ProjectSummary, Skill, Stats, Trace, TraceId, TraceReceipt, UndoRecord, UndoReport,
    UpdateProject,
};

use super::{
    Archive, Browse, Claims, FoundTrace, Hiding, Intake, JobKey, JobKind, Lease, MemoryChanges,
    MemoryKey, Monitoring, NewTrace, Revision, SkillWrite, Spans, Tallies, TraceDeletion, TraceKey,
    Undecoded, UndoRun, VectorSpace, Vectors,
};
use crate::error::{Result, only};
use crate::review::{Action, Decision, Selection, Setback};

/// Stores projects with their traces, reviews, memories, utility events, jobs and skills.
///
/// Every method is one transaction, isolated from all others: it takes effect as a whole or not at
/// all, and its success is durable. Access control is not the store's: it trusts the project.
#[async_trait]
pub trait Store:
    Archive + Browse + Monitoring + Spans + Tallies + Vectors + Send + Sync + 'static
{
    /// All projects, sorted by id.
    async fn projects(&self) -> Result<Vec<ProjectId>>;

    /// The counts and settings of a project, or of all, sorted by id.
    async fn project_summaries(&self, only: Option<&ProjectId>) -> Result<Vec<ProjectSummary>>;

    /// The settings of a project; the default ones if it does not exist.
    async fn settings(&self, project: &ProjectId) -> Result<ProjectSettings>;

    /// Changes the settings that are given. Memories that are inserted while the project asks for approval
    /// wait for it. A missing project is created if `creates`; if not, this fails with
    /// [`Error::NoProject`](crate::Error::NoProject).
    async fn update_project(
        &self,
        project: &ProjectId,
        update: &UpdateProject,
        creates: bool,
    ) -> Result<()>;

    /// Creates an empty project, unless it exists. Fails, like every other method that creates one,
    /// with [`Error::Invalid`](crate::Error::Invalid) if the id of a missing project does not pass
    /// [`ProjectId::validate_new`].
    async fn create_project(&self, project: &ProjectId) -> Result<()>;

    /// Deletes a project and everything in it. Returns whether it existed.
    async fn delete_project(&self, project: &ProjectId) -> Result<bool>;

    /// The project's counts.
    async fn stats(&self, project: &ProjectId) -> Result<Stats>;

    /// Inserts a trace with its review.
    ///
    /// With an idempotency key that the project has, inserts nothing and returns the first receipt.
    /// Without the review, if an undo that covers it came since it was given.
    /// Fails with [`Error::NoProject`](crate::Error::NoProject) if the project does not exist and
    /// the trace may not create it.
    async fn insert_trace(
        &self,
        project: &ProjectId,
        trace: NewTrace,
        intake: Intake,
    ) -> Result<TraceReceipt> {
        only(self.insert_traces(project, vec![(trace, intake)]).await)
    }

    /// Inserts traces with their reviews as [`insert_trace`](Self::insert_trace) does, in one transaction if none is
    /// refused. One that is refused keeps no other from being stored.
    async fn insert_traces(
        &self,
        project: &ProjectId,
        traces: Vec<(NewTrace, Intake)>,
    ) -> Vec<Result<TraceReceipt>>;

    /// A trace.
    async fn trace(&self, project: &ProjectId, id: &TraceId) -> Result<Option<Trace>> {
        let found = self.trace_json(project, id).await?;
        found.map(Undecoded::decode).transpose()
    }

    /// A trace, its long fields undecoded.
    async fn trace_json(
        &self,
        project: &ProjectId,
        id: &TraceId,
    ) -> Result<Option<Undecoded<Trace>>>;

    /// The newest traces with this key, at most `limit`, newest first.
    async fn find_traces(
        &self,
        project: &ProjectId,
        key: &TraceKey,
        limit: usize,
    ) -> Result<Vec<FoundTrace>>;

    /// A page of traces, in the order of the request. Fails with
    /// [`Error::Invalid`](crate::Error::Invalid) if its cursor names no trace.
    async fn list_traces(&self, project: &ProjectId, list: &ListTraces) -> Result<Page<Trace>> {
        let Page { items, more } = self.list_traces_json(project, list).await?;
        let items = items.into_iter().map(Undecoded::decode);
        Ok(Page {
            items: items.collect::<Result<_>>()?,
            more,
        })
    }

    /// Like [`list_traces`](Self::list_traces), the long fields undecoded.
    async fn list_traces_json(
        &self,
        project: &ProjectId,
        list: &ListTraces,
    ) -> Result<Page<Undecoded<Trace>>>;

    /// Deletes traces with their texts and jobs. The utility events of their reviews stay, and so does
    /// the history of each review, without its texts, so that [`undo`](Self::undo) takes back what it
    /// taught. Fails with [`Error::OthersTrace`](crate::Error::OthersTrace) if one was recorded with
    /// another key than the deletion allows.
    async fn delete_traces(
        &self,
        project: &ProjectId,
        deletion: TraceDeletion,
    ) -> Result<DeletedTraces>;

    /// Undoes what was taught: reads a [`TaughtProject`](crate::review::TaughtProject), calls
    /// [`undo`](crate::review::undo) and, unless it is a dry run, writes the
    /// [`UndoChanges`](crate::review::UndoChanges), queueing reviews whose memory has to be written
    /// for `now`. From then on, [`review`](Self::review) and
    /// [`insert_trace`](Self::insert_trace) take no review that it covers and that was given before
    /// `now`. Fails with [`Error::Conflict`](crate::Error::Conflict) if the digest of the changes is
    /// not the expected one.
    async fn undo(
        &self,
        project: &ProjectId,
        selection: &Selection,
        run: UndoRun,
        now: Timestamp,
    ) -> Result<UndoReport>;

    /// A page of the records of undos, newest first. Fails with
    /// [`Error::Invalid`](crate::Error::Invalid) if `before` names no record.
    async fn list_undos(&self, project: &ProjectId, list: &ListUndos) -> Result<Page<UndoRecord>>;

    /// Changes the review of a trace: reads its [`ReviewContext`](crate::review::ReviewContext), calls
    /// [`decide`](crate::review::decide) and writes the [`Writes`](crate::review::Writes).
    ///
    /// What the decision depends on must not change until the changes are committed: a database
    /// that runs transactions side by side has to lock the rows it reads.
    async fn review(&self, project: &ProjectId, id: &TraceId, action: Action) -> Result<Decision>;

    /// Claims up to `limit` jobs of a kind that are due at `now`, oldest first. Each claim counts as
    /// an attempt, even if the answer is lost. A job whose lease has expired is claimed alone: it may
    /// have killed its worker, and the attempt must not count for others.
    async fn claim_jobs(
        &self,
        kind: JobKind,
        now: Timestamp,
        lease: &Lease,
        limit: usize,
    ) -> Result<Claims>;

    /// Extends the lease of a job. Returns whether the owner still holds it.
    async fn renew_job(&self, lease: &Lease, key: JobKey) -> Result<bool>;

    /// Queues a job for its next attempt. Without one, a reflection is deleted and can be retried;
    /// any other job is parked: it stays with its error, and is not claimed. Does nothing if the
    /// owner does not hold the job.
    async fn fail_job(&self, owner: &str, key: JobKey, setback: Setback) -> Result<()>;

    /// Deletes a job. Does nothing if the owner does not hold it.
    async fn finish_job(&self, owner: &str, key: JobKey) -> Result<()>;

    /// Queues a judgement of every trace that has no review and no judgement, not even a parked one.
    /// A trace with a withdrawn verdict of a model is left to people.
    ///
    /// `restart` also gives each judgement that was parked with an error one more attempt. One that
    /// was parked without an error is left to people.
    async fn queue_judgements(&self, now: Timestamp, restart: bool) -> Result<()>;

    /// Undoes the claims of all owners whose name begins with `owner`.
    async fn release_jobs(&self, owner: &str) -> Result<()>;

    /// Queues the failed job of a trace for `now`. Refused with
    /// [`NoTrace`](crate::review::Refusal::NoTrace) or
    /// [`NotFailed`](crate::review::Refusal::NotFailed).
    async fn retry_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        now: Timestamp,
    ) -> Result<Decision>;

    /// Up to `limit` changes of the project's memories after `since`, oldest first, with vectors of
    /// this space. Within a project, revisions become visible in order.
    async fn memory_changes(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
        since: Revision,
        limit: usize,
    ) -> Result<MemoryChanges>;

    /// These memories, in any order, without those that are deleted.
    async fn memories(
        &self,
        project: &ProjectId,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>>;

    /// A page of memories with their events, newest first. Fails with
    /// [`Error::Invalid`](crate::Error::Invalid) if `before` names no memory.
    async fn list_memories(
        &self,
        project: &ProjectId,
        list: &ListMemories,
    ) -> Result<Page<MemoryHistory>>;

    /// A memory with its events and changes, oldest first.
    async fn memory(&self, project: &ProjectId, id: &MemoryId) -> Result<Option<MemoryHistory>>;

    /// Edits, quarantines or restores a memory: calls [`edit_memory`](crate::review::edit_memory), and stores the
    /// new text, the new status and the changes. Deletes a skill that was written from the memory,
    /// unless the memory is restored without an edit. Returns the memory, if there is one.
    async fn update_memory(
        &self,
        project: &ProjectId,
        id: &MemoryId,
        update: &MemoryUpdate,
        key: Option<&KeyId>,
        now: Timestamp,
    ) -> Result<Option<MemoryHistory>>;

    /// Writes decisions of Reflect itself to keep memories out of answers or to give them back, and records
    /// each as an automatic change, unless it stands already. An [undo](Self::undo) ignores these changes.
    async fn hide_memories(
        &self,
        project: &ProjectId,
        decisions: Vec<Hiding>,
        now: Timestamp,
    ) -> Result<()>;

    /// Deletes a memory with its events, the texts of its changes, and a skill that was written from
    /// it. The deletion is recorded. Returns whether the memory existed.
    async fn delete_memory(
        &self,
        project: &ProjectId,
        id: &MemoryId,
        key: Option<&KeyId>,
        now: Timestamp,
    ) -> Result<bool>;

    /// A page of the changes of all memories, also of deleted ones, newest first. Fails with
    /// [`Error::Invalid`](crate::Error::Invalid) if `before` names no change.
    async fn list_memory_changes(
        &self,
        project: &ProjectId,
        list: &ListMemoryChanges,
    ) -> Result<Page<ChangeRecord>>;

    /// The active memories of passed or of failed traces with the highest utility, then most uses, then
    /// newest.
    async fn best_memories(
        &self,
        project: &ProjectId,
        success: bool,
        limit: usize,
    ) -> Result<Vec<MemoryRecord>>;

    /// The project's skill.
    async fn skill(&self, project: &ProjectId) -> Result<Option<Skill>>;

    /// Replaces the project's skill if the version is the next one and the memories it was written
    /// from, as they were read, are active and unchanged. Fails with
    /// [`Error::NoProject`](crate::Error::NoProject) without a project.
    async fn put_skill(
        &self,
        project: &ProjectId,
        skill: &Skill,
        sources: &[MemoryRecord],
    ) -> Result<SkillWrite>;

    /// Fails if the store cannot be written, as on a full disk. It is a real write, of the size of a usual
    /// trace.
    async fn check_writable(&self) -> Result<()>;

    /// Finishes pending writes and closes the files. Later calls may fail.
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
