//! One project.

use std::collections::{BTreeMap, HashMap};

use reflect_types::{
    IngestStatus, ListTraces, MemoryId, ReviewStatus, Skill, Trace, TraceId, TraceReceipt, Verdict,
};

use crate::error::{Error, Result};
use crate::learn::{self, Move};
use crate::record::{
    ListMemories, MemoryHistory, MemoryPage, MemoryRecord, Stats, TracePage, UtilityEvent,
};
use crate::store::{Change, Changes, MemoryKey, NewReview, Revision};

#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) epoch: i64,
    pub(super) revision: i64,
    pub(super) runs: BTreeMap<i64, Run>,
    pub(super) run_keys: HashMap<TraceId, i64>,
    pub(super) receipts: HashMap<String, TraceReceipt>,
    pub(super) memories: BTreeMap<MemoryKey, Stored>,
    pub(super) memory_keys: HashMap<MemoryId, MemoryKey>,
    pub(super) gone: Vec<(i64, MemoryKey)>,
    pub(super) skill: Option<Skill>,
}

#[derive(Debug)]
pub(super) struct Run {
    pub(super) trace: Trace,
    pub(super) review: Option<NewReview>,
    pub(super) idempotency_key: Option<String>,
}

#[derive(Debug)]
pub(super) struct Stored {
    pub(super) record: MemoryRecord,
    pub(super) embedder: String,
    pub(super) vector: Vec<f32>,
    pub(super) revision: i64,
    /// By the order in which they are replayed.
    pub(super) events: Vec<UtilityEvent>,
}

impl Stored {
    pub(super) fn history(&self) -> Vec<UtilityEvent> {
        self.events.clone()
    }

    /// Computes the utility and the numbers of the events from the start.
    pub(super) fn replay(&mut self) {
        let moves: Vec<Move> = self.events.iter().map(Self::step).collect();
        self.record.q_value = learn::INITIAL;
        for (event, step) in self.events.iter_mut().zip(learn::replay(moves)) {
            (event.before, event.after) = (step.before, step.after);
            self.record.q_value = step.after;
        }
        self.record.uses = self.events.len() as u64;
    }

    fn step(event: &UtilityEvent) -> Move {
        Move {
            alpha: event.alpha,
            reward: event.reward,
        }
    }
}

impl Shelf {
    pub(super) fn run(&self, id: &TraceId) -> Option<&Run> {
        self.runs.get(self.run_keys.get(id)?)
    }

    pub(super) fn run_mut(&mut self, id: &TraceId) -> Option<&mut Run> {
        self.runs.get_mut(self.run_keys.get(id)?)
    }

    pub(super) fn memory(&self, id: &MemoryId) -> Option<&Stored> {
        self.memories.get(self.memory_keys.get(id)?)
    }

    pub(super) fn next_revision(&mut self) -> i64 {
        self.revision += 1;
        self.revision
    }

    /// Changes a memory and marks it changed; tells whether it was there.
    pub(super) fn change(&mut self, id: &MemoryId, change: impl FnOnce(&mut Stored)) -> bool {
        let Some(key) = self.memory_keys.get(id).copied() else {
            return false;
        };
        let revision = self.next_revision();
        let Some(memory) = self.memories.get_mut(&key) else {
            return false;
        };
        change(memory);
        memory.revision = revision;
        true
    }

    pub(super) fn set_vector(&mut self, key: MemoryKey, embedder: &str, vector: &[f32]) {
        let Some(id) = self
            .memories
            .get(&key)
            .map(|memory| memory.record.id.clone())
        else {
            return;
        };
        self.change(&id, |memory| {
            embedder.clone_into(&mut memory.embedder);
            memory.vector = vector.to_vec();
        });
    }

    /// Removes a memory and its events; the runs that were given it ignore it from now on.
    pub(super) fn remove_memory(&mut self, id: &MemoryId) {
        let Some(key) = self.memory_keys.remove(id) else {
            return;
        };
        let revision = self.next_revision();
        self.gone.push((revision, key));
        let Some(memory) = self.memories.remove(&key) else {
            return;
        };
        for event in memory.events {
            if let Some(run) = self.run_mut(&event.trace_id) {
                run.trace.ignored_memory_ids.push(id.clone());
            }
        }
    }

    pub(super) fn list_traces(&self, list: &ListTraces) -> Result<TracePage> {
        let before = match &list.before {
            Some(id) => *self
                .run_keys
                .get(id)
                .ok_or_else(|| Error::unknown_cursor("before", "trace", id.as_str()))?,
            None => i64::MAX,
        };
        let limit = list.limit.unwrap_or(ListTraces::DEFAULT_LIMIT) as usize;
        let asked = |trace: &&Trace| {
            let (reviewed, ingested) = (&list.review_status, &list.ingest_status);
            reviewed
                .as_ref()
                .is_none_or(|status| trace.review_status == *status)
                && ingested
                    .as_ref()
                    .is_none_or(|status| trace.ingest_status == *status)
        };
        let newest = self.runs.range(..before).rev().map(|(_, run)| &run.trace);
        let mut found = newest.filter(asked);
        let traces: Vec<Trace> = found.by_ref().take(limit).cloned().collect();
        let next = match found.next() {
            Some(_) => traces.last().map(|trace| trace.id.clone()),
            None => None,
        };
        Ok(TracePage { traces, next })
    }

    pub(super) fn list_memories(&self, list: &ListMemories) -> Result<MemoryPage> {
        let before = match &list.before {
            Some(id) => *self
                .memory_keys
                .get(id)
                .ok_or_else(|| Error::unknown_cursor("before", "memory", id.as_str()))?,
            None => i64::MAX,
        };
        let limit = list.limit.unwrap_or(ListMemories::DEFAULT_LIMIT) as usize;
        let mut found = self.memories.range(..before).rev();
        let memories: Vec<MemoryHistory> = found
            .by_ref()
            .take(limit)
            .map(|(_, memory)| MemoryHistory {
                memory: memory.record.clone(),
                events: memory.history(),
            })
            .collect();
        let next = match found.next() {
            Some(_) => memories.last().map(|last| last.memory.id.clone()),
            None => None,
        };
        Ok(MemoryPage { memories, next })
    }

    pub(super) fn best(&self, success: bool, limit: usize) -> Vec<MemoryRecord> {
        let mut best: Vec<(&MemoryKey, &MemoryRecord)> = self
            .memories
            .iter()
            .map(|(key, memory)| (key, &memory.record))
            .filter(|(_, record)| record.success == success)
            .collect();
        best.sort_by(|(a_key, a), (b_key, b)| {
            let worth = b.q_value.total_cmp(&a.q_value).then(b.uses.cmp(&a.uses));
            worth.then(b_key.cmp(a_key))
        });
        best.into_iter()
            .take(limit)
            .map(|(_, record)| record.clone())
            .collect()
    }

    pub(super) fn vectors(&self, embedder: &str, keys: &[MemoryKey]) -> Vec<(MemoryKey, Vec<f32>)> {
        let found = self.found(keys);
        found
            .filter(|(_, memory)| memory.embedder == embedder)
            .map(|(key, memory)| (key, memory.vector.clone()))
            .collect()
    }

    pub(super) fn by_key(&self, keys: &[MemoryKey]) -> Vec<(MemoryKey, MemoryRecord)> {
        let found = self.found(keys);
        found
            .map(|(key, memory)| (key, memory.record.clone()))
            .collect()
    }

    fn found(&self, keys: &[MemoryKey]) -> impl Iterator<Item = (MemoryKey, &Stored)> {
        keys.iter()
            .filter_map(|key| Some((*key, self.memories.get(key)?)))
    }

    pub(super) fn changes(&self, embedder: &str, since: Revision, limit: usize) -> Changes {
        let mut answer = Changes {
            reset: since.epoch != self.epoch,
            revision: Revision {
                epoch: self.epoch,
                number: self.revision,
            },
            ..Changes::default()
        };
        let since = if answer.reset { 0 } else { since.number };
        if since >= self.revision {
            return answer;
        }
        let mut changes: Vec<(i64, Change)> = self
            .gone
            .iter()
            .map(|(revision, key)| (*revision, Change::Gone(*key)))
            .collect();
        changes.extend(self.memories.iter().map(|(key, memory)| {
            let change = if memory.embedder == embedder {
                Change::Put {
                    key: *key,
                    vector: memory.vector.clone(),
                    q: memory.record.q_value,
                    metadata: memory.record.metadata.clone(),
                }
            } else {
                Change::Gone(*key)
            };
            (memory.revision, change)
        }));
        changes.retain(|(revision, _)| *revision > since);
        changes.sort_unstable_by_key(|(revision, _)| *revision);
        if changes.len() >= limit {
            changes.truncate(limit);
            if let Some((last, _)) = changes.last() {
                answer.more = *last < self.revision;
                answer.revision.number = *last;
            }
        }
        answer.changes = changes.into_iter().map(|(_, change)| change).collect();
        answer
    }

    pub(super) fn stats(&self) -> Stats {
        let runs = |asked: &dyn Fn(&Run) -> bool| {
            self.runs.values().filter(|run| asked(run)).count() as u64
        };
        let judged = |verdict: Verdict| {
            runs(&|run| {
                run.trace.review_status == ReviewStatus::Reviewed
                    && run.review.as_ref().is_some_and(|r| r.verdict == verdict)
            })
        };
        let records = || self.memories.values().map(|memory| &memory.record);
        Stats {
            traces: self.runs.len() as u64,
            pending: runs(&|run| {
                run.trace.review_status == ReviewStatus::Pending
                    && run.trace.ingest_status == IngestStatus::Completed
            }),
            passed: judged(Verdict::Pass),
            failed: judged(Verdict::Fail),
            queued: runs(&|run| working(&run.trace)),
            ingest_failed: runs(&|run| run.trace.ingest_status == IngestStatus::Failed),
            memories: self.memories.len() as u64,
            used_memories: records().filter(|record| record.uses > 0).count() as u64,
            events: records().map(|record| record.uses).sum(),
        }
    }
}

/// Whether the run's review waits, or is being worked on.
pub(super) fn working(trace: &Trace) -> bool {
    matches!(
        trace.ingest_status,
        IngestStatus::Queued | IngestStatus::Processing
    )
}
