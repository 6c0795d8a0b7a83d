//! All of a project, out and in.

use jiff::Timestamp;
use reflect_types::{IngestStatus, MemoryId, ProjectId, TraceId};

use super::book::Book;
use super::jobs::Job;
use super::shelf::{Run, Shelf, Stored};
use crate::clock;
use crate::error::{Error, Result};
use crate::record::{ArchivedTrace, Judgement, MemoryHistory};
use crate::store::{Restored, restored};

impl Shelf {
    pub(super) fn archived_traces(
        &self,
        after: Option<&TraceId>,
        limit: usize,
    ) -> Result<Vec<ArchivedTrace>> {
        let after = match after {
            Some(id) => *self
                .run_keys
                .get(id)
                .ok_or_else(|| Error::unknown_cursor("after", "trace", id.as_str()))?,
            None => 0,
        };
        let runs = self.runs.range(after + 1..).take(limit);
        Ok(runs.map(|(_, run)| self.archived(run)).collect())
    }

    pub(super) fn archived_memories(
        &self,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<MemoryHistory>> {
        let after = match after {
            Some(id) => *self
                .memory_keys
                .get(id)
                .ok_or_else(|| Error::unknown_cursor("after", "memory", id.as_str()))?,
            None => 0,
        };
        let memories = self.memories.range(after + 1..).take(limit);
        Ok(memories
            .map(|(_, memory)| MemoryHistory {
                memory: memory.record.clone(),
                events: memory.history(),
            })
            .collect())
    }

    fn archived(&self, run: &Run) -> ArchivedTrace {
        let receipt = run.idempotency_key.as_ref();
        let receipt = receipt.and_then(|name| self.receipts.get(name));
        ArchivedTrace {
            trace: run.trace.clone(),
            idempotency_key: run.idempotency_key.clone(),
            receipt: receipt.map_or(IngestStatus::Completed, |first| first.ingest_status.clone()),
            judgement: run.review.as_ref().map(|review| Judgement {
                alpha: review.alpha,
                reflection: review.reflection.clone(),
                created_at: clock::text(review.created_at),
            }),
        }
    }
}

impl Book {
    pub(super) fn restore(
        &mut self,
        project: &ProjectId,
        pieces: Vec<Restored>,
        now: Timestamp,
    ) -> u64 {
        let mut stored = 0;
        for piece in pieces {
            let new = match piece {
                Restored::Trace(archived) => self.restore_trace(project, *archived, now),
                Restored::Memory {
                    memory,
                    embedder,
                    vector,
                } => self.restore_memory(project, *memory, embedder, vector),
                Restored::Skill(skill) => {
                    let kept = &mut self.shelf(project).skill;
                    let new = kept.is_none();
                    kept.get_or_insert(skill);
                    new
                }
            };
            stored += u64::from(new);
        }
        stored
    }

    fn restore_trace(
        &mut self,
        project: &ProjectId,
        archived: ArchivedTrace,
        now: Timestamp,
    ) -> bool {
        let key = self.next_key();
        let shelf = self.shelf(project);
        let id = archived.trace.id.clone();
        if shelf.run_keys.contains_key(&id) {
            return false;
        }
        let (review, status) = (
            restored::review(&archived, now),
            restored::status(&archived),
        );
        let name = archived.idempotency_key;
        let name = name.filter(|name| !shelf.receipts.contains_key(name));
        if let Some(name) = &name {
            let receipt = reflect_types::TraceReceipt {
                trace_id: id.clone(),
                ingest_status: archived.receipt,
            };
            shelf.receipts.insert(name.clone(), receipt);
        }
        let mut trace = archived.trace;
        trace.ingest_status = status.clone();
        trace.created_at.get_or_insert_with(|| clock::text(now));
        shelf.run_keys.insert(id.clone(), key);
        let run = Run {
            trace,
            review,
            idempotency_key: name,
        };
        shelf.runs.insert(key, run);
        if status == IngestStatus::Queued {
            self.jobs.insert(key, Job::new(project.clone(), now));
        }
        true
    }

    fn restore_memory(
        &mut self,
        project: &ProjectId,
        history: MemoryHistory,
        embedder: String,
        vector: Vec<f32>,
    ) -> bool {
        let key = self.next_key();
        let shelf = self.shelf(project);
        let id = history.memory.id.clone();
        if shelf.memory_keys.contains_key(&id) {
            return false;
        }
        let stored = Stored {
            record: history.memory,
            embedder,
            vector,
            revision: shelf.next_revision(),
            events: history.events,
        };
        shelf.memory_keys.insert(id, key);
        shelf.memories.insert(key, stored);
        true
    }
}
