//! The SQLite adapter.
//!
//! One thread writes, with one commit for all waiting writes; a few connections read. Processes may
//! share a file. A database in memory has one connection, on the writing thread, which reads too.

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
    NewTrace, Proposals, Revision, SkillWrite, Store, TraceDeletion, TraceKey, Undecoded, UndoRun,
    VectorSpace,
};
use crate::error::Result;
use crate::review::{Action, Decision, Selection, Setback};

mod archive;
mod asides;
mod blob;
mod browse;
mod claims;
mod database;
mod deleted_reviews;
mod embedders;
mod events;
mod fault;
mod file;
mod index_feed;
mod jobs;
mod memories;
mod memory_changes;
mod memory_edits;
mod merged;
mod migrations;
mod monitoring;
mod past_reviews;
mod projects;
mod readers;
mod reembeddings;
mod reviews;
mod row;
mod skills;
mod snapshots;
mod spans;
mod stats;
mod tallies;
mod trace_labels;
mod traces;
mod undo;
mod undo_records;
mod undone;
mod vectors;
mod writer;

pub use database::Sqlite;

/// An index in memory finds candidates.
impl Proposals for Sqlite {}

#[async_trait]
impl Store for Sqlite {
    async fn projects(&self) -> Result<Vec<ProjectId>> {
        self.read(projects::list).await
    }

    async fn project_summaries(&self, only: Option<&ProjectId>) -> Result<Vec<ProjectSummary>> {
        let only = only.cloned();
        self.read(move |db| projects::summaries(db, only.as_ref()))
            .await
    }

    async fn settings(&self, project: &ProjectId) -> Result<ProjectSettings> {
        let project = project.clone();
        self.read(move |db| projects::settings(db, &project)).await
    }

    async fn update_project(
        &self,
        project: &ProjectId,
        update: &UpdateProject,
        creates: bool,
    ) -> Result<()> {
        let (project, update) = (project.clone(), update.clone());
        self.write(move |db| projects::update(db, &project, &update, creates))
            .await
    }

    async fn create_project(&self, project: &ProjectId) -> Result<()> {
        let project = project.clone();
        self.write(move |db| projects::ensure(db, &project).map(drop))
            .await
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        let project = project.clone();
        self.write(move |db| projects::delete(db, &project)).await
    }

    async fn stats(&self, project: &ProjectId) -> Result<Stats> {
        let project = project.clone();
        self.read(move |db| stats::stats(db, &project)).await
    }

    async fn insert_trace(
        &self,
        project: &ProjectId,
        trace: NewTrace,
        intake: Intake,
    ) -> Result<TraceReceipt> {
        let project = project.clone();
        // Outside the closure, because all writes share one thread.
        let trace = EncodedTrace::new(trace)?;
        self.write(move |db| traces::insert(db, &project, &trace, &intake))
            .await
    }

    async fn trace_json(
        &self,
        project: &ProjectId,
        id: &TraceId,
    ) -> Result<Option<Undecoded<Trace>>> {
        let (project, id) = (project.clone(), id.clone());
        self.read(move |db| traces::get(db, &project, &id)).await
    }

    async fn find_traces(
        &self,
        project: &ProjectId,
        key: &TraceKey,
        limit: usize,
    ) -> Result<Vec<FoundTrace>> {
        let (project, key) = (project.clone(), key.clone());
        self.read(move |db| trace_labels::find(db, &project, &key, limit))
            .await
    }

    async fn list_traces_json(
        &self,
        project: &ProjectId,
        list: &ListTraces,
    ) -> Result<Page<Undecoded<Trace>>> {
        let (project, list) = (project.clone(), list.clone());
        self.read(move |db| traces::list(db, &project, &list)).await
    }

    async fn delete_traces(
        &self,
        project: &ProjectId,
        deletion: TraceDeletion,
    ) -> Result<DeletedTraces> {
        let project = project.clone();
        self.write(move |db| traces::delete(db, &project, &deletion))
            .await
    }

    async fn undo(
        &self,
        project: &ProjectId,
        selection: &Selection,
        run: UndoRun,
        now: Timestamp,
    ) -> Result<UndoReport> {
        let (project, selection) = (project.clone(), selection.clone());
        let dry_run = run == UndoRun::Dry;
        let undo = move |db: &_| undo::undo(db, &project, &selection, &run, now);
        self.run(dry_run, undo).await
    }

    async fn list_undos(&self, project: &ProjectId, list: &ListUndos) -> Result<Page<UndoRecord>> {
        let (project, list) = (project.clone(), list.clone());
        self.read(move |db| undo_records::list(db, &project, &list))
            .await
    }

    async fn review(&self, project: &ProjectId, id: &TraceId, action: Action) -> Result<Decision> {
        let (project, id) = (project.clone(), id.clone());
        self.write(move |db| reviews::review(db, &project, &id, &action))
            .await
    }

    async fn claim_jobs(
        &self,
        kind: JobKind,
        now: Timestamp,
        lease: &Lease,
        limit: usize,
    ) -> Result<Claims> {
        self.claim(kind, now, lease, limit).await
    }

    async fn renew_job(&self, lease: &Lease, key: JobKey) -> Result<bool> {
        let lease = lease.clone();
        self.write(move |db| jobs::renew(db, &lease, key)).await
    }

    async fn fail_job(&self, owner: &str, key: JobKey, setback: Setback) -> Result<()> {
        let owner = owner.to_owned();
        self.write(move |db| jobs::fail(db, &owner, key, &setback))
            .await
    }

    async fn finish_job(&self, owner: &str, key: JobKey) -> Result<()> {
        let owner = owner.to_owned();
        self.write(move |db| jobs::finish(db, &owner, key)).await
    }

    async fn queue_judgements(&self, now: Timestamp, restart: bool) -> Result<()> {
        let lacking = self.read(move |db| jobs::lacks_judgements(db, restart));
        if lacking.await? {
            self.write(move |db| jobs::queue_judgements(db, now, restart))
                .await?;
        }
        Ok(())
    }

    async fn release_jobs(&self, owner: &str) -> Result<()> {
        let owner = owner.to_owned();
        self.write(move |db| jobs::release(db, &owner)).await
    }

    async fn retry_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        now: Timestamp,
    ) -> Result<Decision> {
        let (project, id) = (project.clone(), id.clone());
        self.write(move |db| jobs::retry(db, &project, &id, now))
            .await
    }

    async fn memory_changes(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
        since: Revision,
        limit: usize,
    ) -> Result<MemoryChanges> {
        let (project, space) = (project.clone(), space.clone());
        self.read(move |db| index_feed::since_revision(db, &project, &space, since, limit))
            .await
    }

    async fn memories(
        &self,
        project: &ProjectId,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>> {
        let (project, keys) = (project.clone(), keys.to_vec());
        self.read(move |db| memories::by_key(db, &project, &keys))
            .await
    }

    async fn list_memories(
        &self,
        project: &ProjectId,
        list: &ListMemories,
    ) -> Result<Page<MemoryHistory>> {
        let (project, list) = (project.clone(), list.clone());
        self.read(move |db| memories::list(db, &project, &list))
            .await
    }

    async fn memory(&self, project: &ProjectId, id: &MemoryId) -> Result<Option<MemoryHistory>> {
        let (project, id) = (project.clone(), id.clone());
        self.read(move |db| memories::get(db, &project, &id)).await
    }

    async fn update_memory(
        &self,
        project: &ProjectId,
        id: &MemoryId,
        update: &MemoryUpdate,
        key: Option<&KeyId>,
        now: Timestamp,
    ) -> Result<Option<MemoryHistory>> {
        let (project, id) = (project.clone(), id.clone());
        let (update, key) = (update.clone(), key.cloned());
        self.write(move |db| memory_edits::update(db, &project, &id, &update, key.as_ref(), now))
            .await
    }

    async fn set_aside(
        &self,
        project: &ProjectId,
        decisions: Vec<AsideWrite>,
        now: Timestamp,
    ) -> Result<()> {
        let project = project.clone();
        self.write(move |db| asides::write(db, &project, &decisions, now))
            .await
    }

    async fn delete_memory(
        &self,
        project: &ProjectId,
        id: &MemoryId,
        key: Option<&KeyId>,
        now: Timestamp,
    ) -> Result<bool> {
        let (project, id, key) = (project.clone(), id.clone(), key.cloned());
        self.write(move |db| memory_edits::delete(db, &project, &id, key.as_ref(), now))
            .await
    }

    async fn list_memory_changes(
        &self,
        project: &ProjectId,
        list: &ListMemoryChanges,
    ) -> Result<Page<ChangeRecord>> {
        let (project, list) = (project.clone(), list.clone());
        self.read(move |db| memory_changes::list(db, &project, &list))
            .await
    }

    async fn best_memories(
        &self,
        project: &ProjectId,
        success: bool,
        limit: usize,
    ) -> Result<Vec<MemoryRecord>> {
        let project = project.clone();
        self.read(move |db| memories::best(db, &project, success, limit))
            .await
    }

    async fn skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        let project = project.clone();
        self.read(move |db| skills::get(db, &project)).await
    }

    async fn put_skill(
        &self,
        project: &ProjectId,
        skill: &Skill,
        sources: &[MemoryRecord],
    ) -> Result<SkillWrite> {
        let (project, skill, sources) = (project.clone(), skill.clone(), sources.to_vec());
        self.write(move |db| skills::put(db, &project, &skill, &sources))
            .await
    }

    async fn check_writable(&self) -> Result<()> {
        self.write(file::check_writable).await
    }

    async fn close(&self) -> Result<()> {
        if let Some(readers) = &self.readers {
            readers.close().await;
        }
        self.writer.close().await
    }
}

#[cfg(test)]
mod tests;
