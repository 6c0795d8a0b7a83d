//! Every driver is a store.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{
    ChangeRecord, DeletedTraces, KeyId, ListMemories, ListMemoryChanges, ListTraces, ListUndos,
    MemoryHistory, MemoryId, MemoryRecord, MemoryUpdate, Page, ProjectId, ProjectSettings,
    ProjectSummary, Skill, Stats, Trace, TraceId, TraceReceipt, UndoRecord, UndoReport,
    UpdateProject,
};

use super::batches::{ReviewWrite, TraceWrite};
use super::driver::{Driver, run};
use super::index_feed::{self, Follow};
use super::{
    claims, hiding, jobs, memories, memory_changes, memory_edits, projects, skills, trace_labels,
    traces, undo, undo_records,
};
use crate::error::{Result, in_order};
use crate::review::{Action, Decision, Selection, Setback};
use crate::store::encoded_trace::EncodedTrace;
use crate::store::{
    Claims, FoundTrace, Hiding, Intake, JobKey, JobKind, Lease, MemoryChanges, MemoryKey, NewTrace,
    Revision, SkillWrite, Store, TraceDeletion, TraceKey, Undecoded, UndoRun, VectorSpace,
};

#[async_trait]
impl<D: Driver> Store for D {
    async fn projects(&self) -> Result<Vec<ProjectId>> {
        run!(self.look() => projects::list)
    }

    async fn project_summaries(&self, only: Option<&ProjectId>) -> Result<Vec<ProjectSummary>> {
        self.read(only.cloned(), |db, only: &Option<ProjectId>| {
            Box::pin(projects::summaries(db, only.as_ref()))
        })
        .await
    }

    async fn settings(&self, project: &ProjectId) -> Result<ProjectSettings> {
        run!(self.look(project) => projects::settings)
    }

    async fn update_project(
        &self,
        project: &ProjectId,
        update: &UpdateProject,
        creates: bool,
    ) -> Result<()> {
        run!(self.write(project, update; creates) => projects::update)
    }

    async fn create_project(&self, project: &ProjectId) -> Result<()> {
        let created: Result<i64> = run!(self.write(project) => projects::ensure);
        created.map(drop)
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        run!(self.write(project) => projects::delete)
    }

    async fn stats(&self, project: &ProjectId) -> Result<Stats> {
        run!(self.read(project) => projects::stats)
    }

    async fn insert_traces(
        &self,
        project: &ProjectId,
        traces: Vec<(NewTrace, Intake)>,
    ) -> Vec<Result<TraceReceipt>> {
        let (mut refused, mut writes) = (Vec::new(), Vec::new());
        for (trace, intake) in traces {
            // Here, because writes may share a thread.
            let encoded = EncodedTrace::new(trace).map(|trace| {
                let project = project.clone();
                writes.push(Arc::new(TraceWrite {
                    project,
                    trace,
                    intake,
                }));
            });
            refused.push(encoded.err());
        }
        in_order(refused, self.insert(writes).await)
    }

    async fn trace_json(
        &self,
        project: &ProjectId,
        id: &TraceId,
    ) -> Result<Option<Undecoded<Trace>>> {
        run!(self.look(project, id) => traces::get)
    }

    async fn find_traces(
        &self,
        project: &ProjectId,
        key: &TraceKey,
        limit: usize,
    ) -> Result<Vec<FoundTrace>> {
        run!(self.read(project, key; limit) => trace_labels::find)
    }

    async fn list_traces_json(
        &self,
        project: &ProjectId,
        list: &ListTraces,
    ) -> Result<Page<Undecoded<Trace>>> {
        let mut end = i64::MAX;
        if list.is_oldest_first() {
            let settled = self.write(project.clone(), |db, project| {
                Box::pin(traces::settled(db, project))
            });
            end = settled.await?;
        }
        run!(self.read(project, list; end) => traces::list)
    }

    async fn delete_traces(
        &self,
        project: &ProjectId,
        deletion: TraceDeletion,
    ) -> Result<DeletedTraces> {
        run!(self.write(project, deletion) => traces::delete)
    }

    async fn undo(
        &self,
        project: &ProjectId,
        selection: &Selection,
        run: UndoRun,
        now: Timestamp,
    ) -> Result<UndoReport> {
        if run == UndoRun::Dry {
            return run!(self.read(project, selection, run; now) => undo::undo);
        }
        run!(self.write(project, selection, run; now) => undo::undo)
    }

    async fn list_undos(&self, project: &ProjectId, list: &ListUndos) -> Result<Page<UndoRecord>> {
        run!(self.read(project, list) => undo_records::list)
    }

    async fn review(&self, project: &ProjectId, id: &TraceId, action: Action) -> Result<Decision> {
        self.change_review(ReviewWrite {
            project: project.clone(),
            trace: id.clone(),
            action,
        })
        .await
    }

    async fn claim_jobs(
        &self,
        kind: JobKind,
        now: Timestamp,
        lease: &Lease,
        limit: usize,
    ) -> Result<Claims> {
        let error = self.clock_error().await?;
        let (now, lease) = (claims::corrected(now, error), lease.corrected(error));
        // An idle engine must not write.
        let next_due = self.look(kind, |db, kind| Box::pin(jobs::next_due(db, *kind)));
        let next_due = next_due.await?;
        if limit == 0 || next_due.is_none_or(|due| due > now) {
            return Ok(Claims {
                jobs: Vec::new(),
                next_due,
            });
        }
        let owner = lease.owner.clone();
        let arguments = (kind, now, lease, limit);
        let taken = self.write(arguments, |db, (kind, now, lease, limit)| {
            Box::pin(claims::claim(db, *kind, *now, lease, *limit))
        });
        // Read apart, because traces are long and writes may share a thread.
        let loaded = self.read((kind, taken.await?), |db, (kind, taken)| {
            Box::pin(claims::load(db, *kind, taken))
        });
        let (claims, unreadable) = loaded.await?;
        if !unreadable.is_empty() {
            // Ended, or they would be claimed again and again.
            self.write((owner, unreadable), |db, (owner, unreadable)| {
                Box::pin(claims::give_up(db, owner, unreadable))
            })
            .await?;
        }
        Ok(claims)
    }

    async fn renew_job(&self, lease: &Lease, key: JobKey) -> Result<bool> {
        let lease = lease.corrected(self.clock_error().await?);
        run!(self.write(lease; key) => claims::renew)
    }

    async fn fail_job(&self, owner: &str, key: JobKey, setback: Setback) -> Result<()> {
        run!(self.write(owner, setback; key) => jobs::fail)
    }

    async fn finish_job(&self, owner: &str, key: JobKey) -> Result<()> {
        run!(self.write(owner; key) => jobs::finish)
    }

    async fn queue_judgements(&self, now: Timestamp, restart: bool) -> Result<()> {
        let lacking: Result<bool> = run!(self.read(; restart) => jobs::lacks_judgements);
        if !lacking? {
            return Ok(());
        }
        run!(self.write(; now, restart) => jobs::queue_judgements)
    }

    async fn release_jobs(&self, owner: &str) -> Result<()> {
        run!(self.write(owner) => jobs::release)
    }

    async fn retry_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        now: Timestamp,
    ) -> Result<Decision> {
        run!(self.write(project, id; now) => jobs::retry)
    }

    async fn memory_changes(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
        since: Revision,
        limit: usize,
    ) -> Result<MemoryChanges> {
        // Most often nothing has changed.
        let look = self.look((project.clone(), since), |db, (project, since)| {
            Box::pin(index_feed::look(db, project, *since))
        });
        if let Follow::Nothing(answer) = look.await? {
            return Ok(answer);
        }
        run!(self.read(project, space; since, limit) => index_feed::since)
    }

    async fn memories(
        &self,
        project: &ProjectId,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>> {
        run!(self.look(project, keys) => memories::by_key)
    }

    async fn list_memories(
        &self,
        project: &ProjectId,
        list: &ListMemories,
    ) -> Result<Page<MemoryHistory>> {
        run!(self.read(project, list) => memories::list)
    }

    async fn memory(&self, project: &ProjectId, id: &MemoryId) -> Result<Option<MemoryHistory>> {
        run!(self.read(project, id) => memories::get)
    }

    async fn update_memory(
        &self,
        project: &ProjectId,
        id: &MemoryId,
        update: &MemoryUpdate,
        key: Option<&KeyId>,
        now: Timestamp,
    ) -> Result<Option<MemoryHistory>> {
        let arguments = (
            project.clone(),
            id.clone(),
            update.clone(),
            key.cloned(),
            now,
        );
        self.write(arguments, |db, (project, id, update, key, now)| {
            Box::pin(memory_edits::update(
                db,
                project,
                id,
                update,
                key.as_ref(),
                *now,
            ))
        })
        .await
    }

    async fn hide_memories(
        &self,
        project: &ProjectId,
        decisions: Vec<Hiding>,
        now: Timestamp,
    ) -> Result<()> {
        run!(self.write(project, decisions; now) => hiding::write)
    }

    async fn delete_memory(
        &self,
        project: &ProjectId,
        id: &MemoryId,
        key: Option<&KeyId>,
        now: Timestamp,
    ) -> Result<bool> {
        let arguments = (project.clone(), id.clone(), key.cloned(), now);
        self.write(arguments, |db, (project, id, key, now)| {
            Box::pin(memory_edits::delete(db, project, id, key.as_ref(), *now))
        })
        .await
    }

    async fn list_memory_changes(
        &self,
        project: &ProjectId,
        list: &ListMemoryChanges,
    ) -> Result<Page<ChangeRecord>> {
        run!(self.read(project, list) => memory_changes::list)
    }

    async fn best_memories(
        &self,
        project: &ProjectId,
        success: bool,
        limit: usize,
    ) -> Result<Vec<MemoryRecord>> {
        run!(self.look(project; success, limit) => memories::best)
    }

    async fn skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        run!(self.look(project) => skills::get)
    }

    async fn put_skill(
        &self,
        project: &ProjectId,
        skill: &Skill,
        sources: &[MemoryRecord],
    ) -> Result<SkillWrite> {
        run!(self.write(project, skill, sources) => skills::put)
    }

    async fn check_writable(&self) -> Result<()> {
        // Of the size of a usual trace. Random, so that it cannot be compressed.
        let text = || format!("{:032x}", fastrand::u128(..));
        let text: String = std::iter::repeat_with(text).take(512).collect();
        self.write(text, |db, text| {
            Box::pin(projects::put_setting(db, "writable", text))
        })
        .await
    }

    async fn close(&self) -> Result<()> {
        Driver::close(self).await
    }
}
