//! The PostgreSQL adapter.
//!
//! A pool of connections; every method is one transaction. One that changes reviews or memories locks
//! the row of its project first, so what it reads stays true until it commits, and revisions become
//! visible in order. Traces without a review are inserted side by side. Workers claim jobs past the locks
//! of others. Traces and reviews that arrive while others of their project are written share the next
//! transaction: one method is then one transaction together with others, and alone if that fails.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{
    ChangeRecord, DeletedTraces, KeyId, ListMemories, ListMemoryChanges, ListTraces, ListUndos,
    MemoryHistory, MemoryId, MemoryRecord, MemoryUpdate, Page, ProjectId, ProjectSettings,
    ProjectSummary, Skill, Stats, Trace, TraceId, TraceReceipt, UndoRecord, UndoReport,
    UpdateProject,
};

use super::encoded_trace::EncodedTrace;
use super::{
    AsideWrite, Claims, FoundTrace, Intake, JobKey, JobKind, Lease, MemoryChanges, MemoryKey,
    NewTrace, Revision, SkillWrite, Snapshots, Store, TraceDeletion, TraceKey, Undecoded, UndoRun,
    VectorSpace,
};
use crate::error::Result;
use crate::review::{Action, Decision, Selection, Setback};

mod address;
mod archive;
mod asides;
mod browse;
mod claims;
mod clock;
mod database;
mod deleted_reviews;
mod embedders;
mod events;
mod examination;
mod fault;
mod group;
mod histories;
mod ignored;
mod index_feed;
mod jobs;
mod memories;
mod memory_changes;
mod memory_edits;
mod migrations;
mod monitoring;
mod nearest;
mod past_reviews;
mod projects;
mod reembeddings;
mod reviewing;
mod reviews;
mod revisions;
mod row;
#[cfg(any(test, feature = "test-support"))]
mod scratch;
mod skills;
mod spans;
mod sql;
mod standings;
mod taken_revisions;
mod tallies;
mod together;
mod trace_labels;
mod traces;
mod transaction;
mod undo;
mod undo_records;
mod undone;
mod value;
mod vectors;
mod words;
mod written;

use clock::{corrected, corrected_lease};
use fault::Fault;
use index_feed::Follow;
use sql::Db;
use together::{ReviewWrite, TraceWrite};
use transaction::{look, read, write};

pub use clock::DatabaseClock;
pub use database::Postgres;
pub use examination::Examination;
#[cfg(any(test, feature = "test-support"))]
#[doc(hidden)]
pub use scratch::scratch_database;

/// Servers that share a database compute their indexes themselves.
impl Snapshots for Postgres {}

#[async_trait]
impl Store for Postgres {
    async fn projects(&self) -> Result<Vec<ProjectId>> {
        look!(self, |db| projects::list(db))
    }

    async fn project_summaries(&self, only: Option<&ProjectId>) -> Result<Vec<ProjectSummary>> {
        read!(self, |db| projects::summaries(db, only))
    }

    async fn settings(&self, project: &ProjectId) -> Result<ProjectSettings> {
        look!(self, |db| projects::settings(db, project))
    }

    async fn update_project(
        &self,
        project: &ProjectId,
        update: &UpdateProject,
        creates: bool,
    ) -> Result<()> {
        write!(self, |db| projects::update(db, project, update, creates))
    }

    async fn create_project(&self, project: &ProjectId) -> Result<()> {
        write!(self, |db| projects::ensure(db, project))?;
        Ok(())
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        write!(self, |db| projects::delete(db, project))
    }

    async fn stats(&self, project: &ProjectId) -> Result<Stats> {
        read!(self, |db| projects::stats(db, project))
    }

    async fn insert_trace(
        &self,
        project: &ProjectId,
        trace: NewTrace,
        intake: Intake,
    ) -> Result<TraceReceipt> {
        let write = Arc::new(TraceWrite {
            project: project.clone(),
            trace: EncodedTrace::new(trace)?,
            intake,
        });
        if let Some(inserted) = self.insert_together(&write).await {
            return inserted;
        }
        write!(self, |db| together::insert_one(db, &write))
    }

    async fn trace_json(
        &self,
        project: &ProjectId,
        id: &TraceId,
    ) -> Result<Option<Undecoded<Trace>>> {
        look!(self, |db| traces::get(db, project, id))
    }

    async fn find_traces(
        &self,
        project: &ProjectId,
        key: &TraceKey,
        limit: usize,
    ) -> Result<Vec<FoundTrace>> {
        read!(self, |db| trace_labels::find(db, project, key, limit))
    }

    async fn list_traces_json(
        &self,
        project: &ProjectId,
        list: &ListTraces,
    ) -> Result<Page<Undecoded<Trace>>> {
        let mut end = i64::MAX;
        if list.is_oldest_first() {
            end = write!(self, |db| traces::settled(db, project))?;
        }
        read!(self, |db| traces::list(db, project, list, end))
    }

    async fn delete_traces(
        &self,
        project: &ProjectId,
        deletion: TraceDeletion,
    ) -> Result<DeletedTraces> {
        write!(self, |db| traces::delete(db, project, &deletion))
    }

    async fn undo(
        &self,
        project: &ProjectId,
        selection: &Selection,
        run: UndoRun,
        now: Timestamp,
    ) -> Result<UndoReport> {
        match run {
            UndoRun::Dry => read!(self, |db| undo::undo(db, project, selection, &run, now)),
            UndoRun::Real { .. } => {
                write!(self, |db| undo::undo(db, project, selection, &run, now))
            }
        }
    }

    async fn list_undos(&self, project: &ProjectId, list: &ListUndos) -> Result<Page<UndoRecord>> {
        read!(self, |db| undo_records::list(db, project, list))
    }

    async fn review(&self, project: &ProjectId, id: &TraceId, action: Action) -> Result<Decision> {
        let write = Arc::new(ReviewWrite {
            project: project.clone(),
            trace: id.clone(),
            action,
        });
        if let Some(decided) = self.review_together(&write).await {
            return decided;
        }
        write!(self, |db| reviewing::review(db, project, id, &write.action))
    }

    async fn claim_jobs(
        &self,
        kind: JobKind,
        now: Timestamp,
        lease: &Lease,
        limit: usize,
    ) -> Result<Claims> {
        let error = self.measure_clock().await?;
        let (now, lease) = (corrected(now, error), &corrected_lease(lease, error));
        // A look first: an idle engine must not write.
        let next_due = look!(self, |db| jobs::next_due(db, kind))?;
        if limit == 0 || next_due.is_none_or(|due| due > now) {
            return Ok(Claims {
                jobs: Vec::new(),
                next_due,
            });
        }
        let taken = write!(self, |db| claims::claim(db, kind, now, lease, limit))?;
        let (claims, unreadable) = read!(self, |db| claims::load(db, kind, &taken))?;
        if !unreadable.is_empty() {
            // Ended, or they would be claimed again and again.
            write!(self, |db| claims::give_up(db, &lease.owner, &unreadable))?;
        }
        Ok(claims)
    }

    async fn renew_job(&self, lease: &Lease, key: JobKey) -> Result<bool> {
        let error = self.measure_clock().await?;
        let lease = &corrected_lease(lease, error);
        write!(self, |db| claims::renew(db, lease, key))
    }

    async fn fail_job(&self, owner: &str, key: JobKey, setback: Setback) -> Result<()> {
        write!(self, |db| jobs::fail(db, owner, key, &setback))
    }

    async fn finish_job(&self, owner: &str, key: JobKey) -> Result<()> {
        write!(self, |db| jobs::finish(db, owner, key))
    }

    async fn queue_judgements(&self, now: Timestamp, restart: bool) -> Result<()> {
        if read!(self, |db| jobs::lacks_judgements(db, restart))? {
            write!(self, |db| jobs::queue_judgements(db, now, restart))?;
        }
        Ok(())
    }

    async fn release_jobs(&self, owner: &str) -> Result<()> {
        write!(self, |db| jobs::release(db, owner))
    }

    async fn retry_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        now: Timestamp,
    ) -> Result<Decision> {
        write!(self, |db| jobs::retry(db, project, id, now))
    }

    async fn memory_changes(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
        since: Revision,
        limit: usize,
    ) -> Result<MemoryChanges> {
        // A look first: most often nothing has changed.
        let look = look!(self, |db| index_feed::look(db, project, since))?;
        if let Follow::Nothing(answer) = look {
            return Ok(answer);
        }
        read!(self, |db| index_feed::since_revision(
            db, project, space, since, limit
        ))
    }

    async fn memories(
        &self,
        project: &ProjectId,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>> {
        look!(self, |db| memories::by_key(db, project, keys))
    }

    async fn list_memories(
        &self,
        project: &ProjectId,
        list: &ListMemories,
    ) -> Result<Page<MemoryHistory>> {
        read!(self, |db| memories::list(db, project, list))
    }

    async fn memory(&self, project: &ProjectId, id: &MemoryId) -> Result<Option<MemoryHistory>> {
        read!(self, |db| memories::get(db, project, id))
    }

    async fn update_memory(
        &self,
        project: &ProjectId,
        id: &MemoryId,
        update: &MemoryUpdate,
        key: Option<&KeyId>,
        now: Timestamp,
    ) -> Result<Option<MemoryHistory>> {
        write!(self, |db| memory_edits::update(
            db, project, id, update, key, now
        ))
    }

    async fn set_aside(
        &self,
        project: &ProjectId,
        decisions: Vec<AsideWrite>,
        now: Timestamp,
    ) -> Result<()> {
        write!(self, |db| asides::write(db, project, &decisions, now))
    }

    async fn delete_memory(
        &self,
        project: &ProjectId,
        id: &MemoryId,
        key: Option<&KeyId>,
        now: Timestamp,
    ) -> Result<bool> {
        write!(self, |db| memory_edits::delete(db, project, id, key, now))
    }

    async fn list_memory_changes(
        &self,
        project: &ProjectId,
        list: &ListMemoryChanges,
    ) -> Result<Page<ChangeRecord>> {
        read!(self, |db| memory_changes::list(db, project, list))
    }

    async fn best_memories(
        &self,
        project: &ProjectId,
        success: bool,
        limit: usize,
    ) -> Result<Vec<MemoryRecord>> {
        look!(self, |db| memories::best(db, project, success, limit))
    }

    async fn skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        read!(self, |db| skills::get(db, project))
    }

    async fn put_skill(
        &self,
        project: &ProjectId,
        skill: &Skill,
        sources: &[MemoryRecord],
    ) -> Result<SkillWrite> {
        write!(self, |db| skills::put(db, project, skill, sources))
    }

    async fn check_writable(&self) -> Result<()> {
        write!(self, |db| check_writable(db))
    }

    async fn close(&self) -> Result<()> {
        self.close_pool();
        Ok(())
    }
}

/// Writes a row of the size of a usual trace.
async fn check_writable(db: &Db<'_>) -> Result<(), Fault> {
    db.execute(
        "INSERT INTO setting (name, value) VALUES ('writable', \
             repeat(md5(random()::text), 512)) ON CONFLICT (name) DO UPDATE SET value = \
             excluded.value",
        &[],
    )
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests;
