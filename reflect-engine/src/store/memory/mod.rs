//! Everything in memory, for tests and for runs that leave nothing behind.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{
    DeletedTraces, IngestStatus, ListTraces, MemoryId, ProjectId, Skill, Trace, TraceId,
    TraceReceipt,
};

use super::{
    Applied, Basis, Changes, Claims, Intake, Lease, Lesson, MemoryKey, NewReview, NewTrace,
    Restored, Retried, Revision, Setback, Store, Unembedded, Withdrawn,
};
use crate::error::Result;
use crate::record::ArchivedTrace;
use crate::record::{ListMemories, MemoryHistory, MemoryPage, MemoryRecord, Stats, TracePage};

mod archive;
mod book;
mod jobs;
mod shelf;

use book::Book;

/// Keeps everything in memory: it is gone with the process.
#[derive(Debug, Default)]
pub struct InMemory {
    book: Mutex<Book>,
}

impl InMemory {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // Every change is checked before it is begun, so a panic elsewhere left it whole.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for InMemory {
    async fn projects(&self) -> Result<Vec<ProjectId>> {
        Ok(self.book().projects.keys().cloned().collect())
    }

    async fn create_project(&self, project: &ProjectId) -> Result<()> {
        self.book().shelf(project);
        Ok(())
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        Ok(self.book().delete_project(project))
    }

    async fn stats(&self, project: &ProjectId) -> Result<Stats> {
        let book = self.book();
        Ok(book
            .projects
            .get(project)
            .map_or_else(Stats::default, shelf::Shelf::stats))
    }

    async fn insert_trace(
        &self,
        project: &ProjectId,
        trace: NewTrace,
        intake: Intake,
    ) -> Result<TraceReceipt> {
        self.book().insert_trace(project, trace, intake)
    }

    async fn trace(&self, project: &ProjectId, id: &TraceId) -> Result<Option<Trace>> {
        let book = self.book();
        let shelf = book.projects.get(project);
        Ok(shelf.and_then(|shelf| Some(shelf.run(id)?.trace.clone())))
    }

    async fn list_traces(&self, project: &ProjectId, list: &ListTraces) -> Result<TracePage> {
        match self.book().projects.get(project) {
            Some(shelf) => shelf.list_traces(list),
            None => shelf::Shelf::default().list_traces(list),
        }
    }

    async fn delete_traces(
        &self,
        project: &ProjectId,
        ids: &[TraceId],
        with_memories: bool,
    ) -> Result<DeletedTraces> {
        Ok(self.book().delete_traces(project, ids, with_memories))
    }

    async fn apply_review(
        &self,
        project: &ProjectId,
        id: &TraceId,
        basis: Basis,
        lesson: Lesson,
    ) -> Result<Applied> {
        self.book().apply_review(project, id, &basis, &lesson)
    }

    async fn put_aside(
        &self,
        project: &ProjectId,
        id: &TraceId,
        basis: Basis,
        review: NewReview,
        setback: Setback,
    ) -> Result<Applied> {
        Ok(self.book().put_aside(project, id, &basis, review, setback))
    }

    async fn withdraw_review(&self, project: &ProjectId, id: &TraceId) -> Result<Withdrawn> {
        Ok(self.book().withdraw_review(project, id))
    }

    async fn claim_jobs(&self, now: Timestamp, lease: &Lease, limit: usize) -> Result<Claims> {
        Ok(self.book().claim(now, lease, limit))
    }

    async fn renew_job(&self, lease: &Lease, project: &ProjectId, id: &TraceId) -> Result<bool> {
        Ok(self.book().renew(lease, project, id))
    }

    async fn fail_job(
        &self,
        owner: &str,
        project: &ProjectId,
        id: &TraceId,
        setback: Setback,
    ) -> Result<()> {
        self.book().fail(owner, project, id, setback);
        Ok(())
    }

    async fn release_jobs(&self, owner: &str) -> Result<()> {
        self.book().release(owner);
        Ok(())
    }

    async fn retry_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        now: Timestamp,
    ) -> Result<Retried> {
        Ok(self.book().retry(project, id, now))
    }

    async fn memory_changes(
        &self,
        project: &ProjectId,
        embedder: &str,
        since: Revision,
        limit: usize,
    ) -> Result<Changes> {
        let book = self.book();
        let changes = match book.projects.get(project) {
            Some(shelf) => shelf.changes(embedder, since, limit),
            None => Changes {
                reset: since.epoch != 0,
                ..Changes::default()
            },
        };
        Ok(Changes {
            embedder: book.embedder.clone(),
            ..changes
        })
    }

    async fn vectors(
        &self,
        project: &ProjectId,
        embedder: &str,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, Vec<f32>)>> {
        let book = self.book();
        let shelf = book.projects.get(project);
        Ok(shelf.map_or_else(Vec::new, |shelf| shelf.vectors(embedder, keys)))
    }

    async fn memories(
        &self,
        project: &ProjectId,
        keys: &[MemoryKey],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>> {
        let book = self.book();
        let shelf = book.projects.get(project);
        Ok(shelf.map_or_else(Vec::new, |shelf| shelf.by_key(keys)))
    }

    async fn list_memories(&self, project: &ProjectId, list: &ListMemories) -> Result<MemoryPage> {
        match self.book().projects.get(project) {
            Some(shelf) => shelf.list_memories(list),
            None => shelf::Shelf::default().list_memories(list),
        }
    }

    async fn memory(&self, project: &ProjectId, id: &MemoryId) -> Result<Option<MemoryHistory>> {
        let book = self.book();
        let shelf = book.projects.get(project);
        let stored = shelf.and_then(|shelf| shelf.memory(id));
        Ok(stored.map(|stored| MemoryHistory {
            memory: stored.record.clone(),
            events: stored.history(),
        }))
    }

    async fn best_memories(
        &self,
        project: &ProjectId,
        success: bool,
        limit: usize,
    ) -> Result<Vec<MemoryRecord>> {
        let book = self.book();
        let shelf = book.projects.get(project);
        Ok(shelf.map_or_else(Vec::new, |shelf| shelf.best(success, limit)))
    }

    async fn claim_embedder(&self, embedder: &str) -> Result<()> {
        self.book().embedder = Some(embedder.to_owned());
        Ok(())
    }

    async fn embedder(&self) -> Result<Option<String>> {
        Ok(self.book().embedder.clone())
    }

    async fn unembedded(
        &self,
        embedder: &str,
        dims: usize,
        limit: usize,
    ) -> Result<Vec<Unembedded>> {
        let book = self.book();
        let memories = book.projects.values().flat_map(|shelf| &shelf.memories);
        let stale = memories.filter(|(_, memory)| {
            memory.embedder != embedder || (dims > 0 && memory.vector.len() != dims)
        });
        Ok(stale
            .take(limit)
            .map(|(key, memory)| Unembedded {
                key: *key,
                task: memory.record.task.clone(),
            })
            .collect())
    }

    async fn set_vectors(&self, embedder: &str, vectors: Vec<(MemoryKey, Vec<f32>)>) -> Result<()> {
        let mut book = self.book();
        for (key, vector) in vectors {
            for shelf in book.projects.values_mut() {
                shelf.set_vector(key, embedder, &vector);
            }
        }
        Ok(())
    }

    async fn skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        let book = self.book();
        Ok(book
            .projects
            .get(project)
            .and_then(|shelf| shelf.skill.clone()))
    }

    async fn put_skill(&self, project: &ProjectId, skill: &Skill) -> Result<bool> {
        let mut book = self.book();
        let shelf = book.existing(project)?;
        let next = shelf.skill.as_ref().map_or(0, |skill| skill.version) + 1 == skill.version;
        if next {
            shelf.skill = Some(skill.clone());
        }
        Ok(next)
    }

    async fn archived_traces(
        &self,
        project: &ProjectId,
        after: Option<&TraceId>,
        limit: usize,
    ) -> Result<Vec<ArchivedTrace>> {
        let mut book = self.book();
        let mut traces = book.existing(project)?.archived_traces(after, limit)?;
        for ArchivedTrace { trace, .. } in &mut traces {
            // Also what is told as failed, where it will be tried again.
            if book.has_job(project, &trace.id) {
                trace.ingest_status = IngestStatus::Queued;
            }
        }
        Ok(traces)
    }

    async fn archived_memories(
        &self,
        project: &ProjectId,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryHistory>> {
        self.book()
            .existing(project)?
            .archived_memories(after, limit)
    }

    async fn restore(
        &self,
        project: &ProjectId,
        creates_project: bool,
        pieces: Vec<Restored>,
        now: Timestamp,
    ) -> Result<u64> {
        let mut book = self.book();
        if creates_project {
            book.shelf(project);
        }
        book.existing(project)?;
        Ok(book.restore(project, pieces, now))
    }
}
