//! All projects, and the changes that make them.

use std::collections::BTreeMap;

use reflect_types::{
    DeletedTraces, IngestStatus, MemoryId, ProjectId, ReviewRecord, ReviewStatus, Trace, TraceId,
    TraceReceipt,
};

use super::jobs::Job;
use super::shelf::{Run, Shelf, Stored, working};
use crate::clock;
use crate::error::{Error, Result};
use crate::learn::{self, Move};
use crate::record::{MemoryRecord, UtilityEvent};
use crate::store::{
    Applied, Basis, Intake, Lesson, NewReview, NewTrace, Setback, Withdrawn, distinct, judge_note,
};

#[derive(Debug, Default)]
pub(super) struct Book {
    pub(super) projects: BTreeMap<ProjectId, Shelf>,
    /// By run.
    pub(super) jobs: BTreeMap<i64, Job>,
    pub(super) embedder: Option<String>,
    /// The last key that was given out, whatever for.
    key: i64,
}

impl Book {
    /// The project, made where there is none.
    pub(super) fn shelf(&mut self, project: &ProjectId) -> &mut Shelf {
        let key = &mut self.key;
        self.projects.entry(project.clone()).or_insert_with(|| {
            *key += 1;
            Shelf {
                epoch: *key,
                ..Shelf::default()
            }
        })
    }

    /// The project, which has to be there.
    pub(super) fn existing(&mut self, project: &ProjectId) -> Result<&mut Shelf> {
        let found = self.projects.get_mut(project);
        found.ok_or_else(|| Error::NoProject(project.clone()))
    }

    /// A key that was never given out.
    pub(super) fn next_key(&mut self) -> i64 {
        self.key += 1;
        self.key
    }

    pub(super) fn delete_project(&mut self, project: &ProjectId) -> bool {
        self.jobs.retain(|_, job| job.project != *project);
        self.projects.remove(project).is_some()
    }

    pub(super) fn insert_trace(
        &mut self,
        project: &ProjectId,
        new: NewTrace,
        intake: Intake,
    ) -> Result<TraceReceipt> {
        let shelf = if new.creates_project {
            self.shelf(project)
        } else {
            self.existing(project)?
        };
        let known = new.idempotency_key.as_ref();
        if let Some(first) = known.and_then(|key| shelf.receipts.get(key)) {
            return Ok(first.clone());
        }
        let ingest_status = match intake {
            Intake::Queued(_) => IngestStatus::Queued,
            Intake::Unreviewed | Intake::Learned(_) => IngestStatus::Completed,
        };
        let receipt = TraceReceipt {
            trace_id: new.id.clone(),
            ingest_status: ingest_status.clone(),
        };
        let step = match &intake {
            Intake::Learned(lesson) => Some(move_of(&lesson.review)?),
            Intake::Unreviewed | Intake::Queued(_) => None,
        };
        if let Some(key) = &new.idempotency_key {
            shelf.receipts.insert(key.clone(), receipt.clone());
        }
        let created_at = new.created_at;
        let id = new.id.clone();
        let run = Run {
            idempotency_key: new.idempotency_key.clone(),
            review: None,
            trace: trace_of(new, ingest_status),
        };
        self.key += 1;
        let key = self.key;
        let shelf = self.shelf(project);
        shelf.run_keys.insert(id.clone(), key);
        shelf.runs.insert(key, run);
        match intake {
            Intake::Unreviewed => {}
            Intake::Queued(review) => {
                put_review(shelf, &id, &review);
                let job = Job::new(project.clone(), created_at);
                self.jobs.insert(key, job);
            }
            Intake::Learned(lesson) => {
                put_review(shelf, &id, &lesson.review);
                if let Some(step) = step {
                    self.learn(project, &id, &lesson, step);
                }
            }
        }
        Ok(receipt)
    }

    pub(super) fn delete_traces(
        &mut self,
        project: &ProjectId,
        ids: &[TraceId],
        with_memories: bool,
    ) -> DeletedTraces {
        let mut gone = DeletedTraces::default();
        let Some(shelf) = self.projects.get_mut(project) else {
            return gone;
        };
        for id in ids {
            let Some(key) = shelf.run_keys.remove(id) else {
                continue;
            };
            self.jobs.remove(&key);
            if let Some(run) = shelf.runs.remove(&key) {
                if let Some(name) = run.idempotency_key {
                    shelf.receipts.remove(&name);
                }
                if let (true, Some(memory)) = (with_memories, run.trace.created_memory_id) {
                    shelf.remove_memory(&memory);
                }
            }
            gone.deleted += 1;
            gone.trace_ids.push(id.clone());
        }
        gone
    }

    pub(super) fn apply_review(
        &mut self,
        project: &ProjectId,
        id: &TraceId,
        basis: &Basis,
        lesson: &Lesson,
    ) -> Result<Applied> {
        let step = move_of(&lesson.review)?;
        let shelf = self.projects.get_mut(project);
        let found = shelf.and_then(|shelf| {
            let key = *shelf.run_keys.get(id)?;
            Some((key, shelf))
        });
        let Some((key, shelf)) = found else {
            return Ok(match basis {
                Basis::Job { .. } => Applied::LeaseLost,
                Basis::Fresh | Basis::Replace { .. } => Applied::NoTrace,
            });
        };
        let Some(run) = shelf.runs.get(&key) else {
            return Ok(Applied::NoTrace);
        };
        let owner = self.jobs.get(&key).and_then(|job| job.owner.as_deref());
        if let Some(refusal) = refusal(run, owner, basis) {
            return Ok(refusal);
        }
        let replaced = run.review.as_ref().map(|review| review.id.clone());
        let reviewed = run.trace.review_status == ReviewStatus::Reviewed;
        match (basis, replaced) {
            // The review of the job may be one that replaces another, of which something was learned.
            (Basis::Job { .. } | Basis::Replace { .. }, Some(replaced)) if reviewed => {
                let review = NewReview {
                    id: replaced,
                    ..lesson.review.clone()
                };
                put_review(shelf, id, &review);
                self.relearn(project, id, lesson, &review, step);
                self.jobs.remove(&key);
            }
            (Basis::Job { .. }, _) => self.learn(project, id, lesson, step),
            (Basis::Fresh | Basis::Replace { .. }, replaced) => {
                let lesson = Lesson {
                    review: under_the_same_id(lesson.review.clone(), basis, replaced),
                    memory: lesson.memory.clone(),
                };
                put_review(shelf, id, &lesson.review);
                self.learn(project, id, &lesson, step);
            }
        }
        Ok(Applied::Done)
    }

    pub(super) fn put_aside(
        &mut self,
        project: &ProjectId,
        id: &TraceId,
        basis: &Basis,
        review: NewReview,
        setback: Setback,
    ) -> Applied {
        let shelf = self.projects.get_mut(project);
        let found = shelf.and_then(|shelf| Some((*shelf.run_keys.get(id)?, shelf)));
        let Some((key, shelf)) = found else {
            return Applied::NoTrace;
        };
        let Some(run) = shelf.runs.get_mut(&key) else {
            return Applied::NoTrace;
        };
        let owner = self.jobs.get(&key).and_then(|job| job.owner.as_deref());
        if let Some(refusal) = refusal(run, owner, basis) {
            return refusal;
        }
        let replaced = run.review.as_ref().map(|review| review.id.clone());
        run.trace.ingest_status = setback.next.status();
        run.trace.ingest_attempts = 1;
        run.trace.last_ingest_error = Some(setback.error);
        put_review(shelf, id, &under_the_same_id(review, basis, replaced));
        match setback.next.due() {
            // What came before was the first attempt.
            Some(due) => {
                let job = Job::new(project.clone(), due).after_one();
                self.jobs.insert(key, job);
            }
            None => drop(self.jobs.remove(&key)),
        }
        Applied::Done
    }

    pub(super) fn withdraw_review(&mut self, project: &ProjectId, id: &TraceId) -> Withdrawn {
        let Some(shelf) = self.projects.get_mut(project) else {
            return Withdrawn::NoTrace;
        };
        let Some(key) = shelf.run_keys.get(id).copied() else {
            return Withdrawn::NoTrace;
        };
        let Some(run) = shelf.runs.get_mut(&key) else {
            return Withdrawn::NoTrace;
        };
        let Some(review) = run.review.take() else {
            return Withdrawn::NoReview;
        };
        let memory = run.trace.created_memory_id.take();
        run.trace.review = None;
        if let Some(note) = judge_note(review.feedback.as_deref(), review.verdict) {
            run.trace.judge_note = Some(note);
        }
        run.trace.review_status = ReviewStatus::Pending;
        run.trace.ingest_status = IngestStatus::Completed;
        run.trace.ingest_attempts = 0;
        run.trace.last_ingest_error = None;
        run.trace.ignored_memory_ids.clear();
        self.jobs.remove(&key);
        for moved in moved_by(shelf, &review.id) {
            shelf.change(&moved, |memory| {
                memory.events.retain(|event| event.review_id != review.id);
                memory.replay();
            });
        }
        if let Some(memory) = memory {
            shelf.remove_memory(&memory);
        }
        Withdrawn::Done
    }

    /// The memory, the moves, their events, and the end of the job.
    fn learn(&mut self, project: &ProjectId, id: &TraceId, lesson: &Lesson, step: Move) {
        let shelf = self.shelf(project);
        let Some(key) = shelf.run_keys.get(id).copied() else {
            return;
        };
        let Some(run) = shelf.runs.get(&key) else {
            return;
        };
        let retrieved = run.trace.retrieved_memory_ids.clone();
        let mut ignored = Vec::new();
        for given in distinct(&retrieved) {
            let known = shelf.change(given, |memory| {
                let before = memory.record.q_value;
                memory.events.push(UtilityEvent {
                    memory_id: given.clone(),
                    trace_id: id.clone(),
                    review_id: lesson.review.id.clone(),
                    alpha: step.alpha,
                    reward: step.reward,
                    before,
                    after: step.apply(before),
                    created_at: clock::text(lesson.memory.created_at),
                });
                memory.record.q_value = step.apply(before);
                memory.record.uses += 1;
            });
            if !known {
                ignored.push(given.clone());
            }
        }
        if let Some(run) = shelf.runs.get_mut(&key) {
            run.trace.ignored_memory_ids = ignored;
        }
        self.jobs.remove(&key);
        self.store_memory(project, id, lesson);
    }

    /// As if the run had been judged this way from the start.
    fn relearn(
        &mut self,
        project: &ProjectId,
        id: &TraceId,
        lesson: &Lesson,
        review: &NewReview,
        step: Move,
    ) {
        let shelf = self.shelf(project);
        let memory = shelf
            .run(id)
            .and_then(|run| run.trace.created_memory_id.clone());
        let rewritten = memory.is_some_and(|memory| {
            shelf.change(&memory, |memory| {
                memory.record.reflection = lesson.memory.reflection.clone();
                memory.record.success = step.reward > 0.5;
                memory.embedder.clone_from(&lesson.memory.embedder);
                memory.vector.clone_from(&lesson.memory.vector);
            })
        });
        for moved in moved_by(shelf, &review.id) {
            shelf.change(&moved, |memory| {
                let events = memory.events.iter_mut();
                for event in events.filter(|event| event.review_id == review.id) {
                    (event.alpha, event.reward) = (step.alpha, step.reward);
                }
                memory.replay();
            });
        }
        if let Some(run) = shelf.run_mut(id) {
            run.trace.ingest_status = IngestStatus::Completed;
            run.trace.last_ingest_error = None;
        }
        if !rewritten {
            self.store_memory(project, id, lesson);
        }
    }

    /// Stores the memory of a run and marks the run.
    fn store_memory(&mut self, project: &ProjectId, id: &TraceId, lesson: &Lesson) {
        self.key += 1;
        let key = self.key;
        let shelf = self.shelf(project);
        let revision = shelf.next_revision();
        let Some(run) = shelf.run_mut(id) else { return };
        let new = &lesson.memory;
        run.trace.created_memory_id = Some(new.id.clone());
        run.trace.review_status = ReviewStatus::Reviewed;
        run.trace.ingest_status = IngestStatus::Completed;
        run.trace.last_ingest_error = None;
        let record = MemoryRecord {
            id: new.id.clone(),
            trace_id: id.clone(),
            task: run.trace.task.clone(),
            reflection: new.reflection.clone(),
            success: lesson.review.verdict.success() == Some(true),
            q_value: learn::INITIAL,
            uses: 0,
            metadata: run.trace.metadata.clone(),
            created_at: clock::text(new.created_at),
        };
        let stored = Stored {
            record,
            embedder: new.embedder.clone(),
            vector: new.vector.clone(),
            revision,
            events: Vec::new(),
        };
        shelf.memory_keys.insert(new.id.clone(), key);
        shelf.memories.insert(key, stored);
    }
}

/// Why a judgement on this basis cannot be passed.
fn refusal(run: &Run, owner: Option<&str>, basis: &Basis) -> Option<Applied> {
    let reviewed = run.trace.review_status == ReviewStatus::Reviewed;
    match (basis, &run.review) {
        (Basis::Job { owner: claimed }, _) => {
            (owner != Some(claimed)).then_some(Applied::LeaseLost)
        }
        (Basis::Replace { review_id, said }, Some(current)) if current.id == *review_id => {
            let unchanged = current.verdict == said.verdict && current.feedback == said.feedback;
            (!unchanged).then_some(Applied::Changed)
        }
        _ if working(&run.trace) => Some(Applied::Working),
        (Basis::Fresh, Some(review)) if reviewed => Some(Applied::Reviewed(review.verdict)),
        (Basis::Fresh, _) => None,
        (Basis::Replace { .. }, _) => Some(Applied::NoReview),
    }
}

/// A review that replaces another keeps its id, by which its moves are known.
fn under_the_same_id(mut review: NewReview, basis: &Basis, replaced: Option<String>) -> NewReview {
    if let (Basis::Replace { .. }, Some(id)) = (basis, replaced) {
        review.id = id;
    }
    review
}

fn put_review(shelf: &mut Shelf, id: &TraceId, review: &NewReview) {
    if let Some(run) = shelf.run_mut(id) {
        run.trace.review = Some(ReviewRecord {
            id: review.id.clone(),
            trace_id: id.clone(),
            result: review.verdict,
            feedback_text: review.feedback.clone(),
            mode: review.mode.clone(),
        });
        run.review = Some(review.clone());
    }
}

fn moved_by(shelf: &Shelf, review: &str) -> Vec<MemoryId> {
    let by_it = |memory: &&Stored| memory.events.iter().any(|event| event.review_id == review);
    let moved = shelf.memories.values().filter(by_it);
    moved.map(|memory| memory.record.id.clone()).collect()
}

fn move_of(review: &NewReview) -> Result<Move> {
    Move::of(review.verdict, review.alpha).ok_or_else(|| Error::Internal {
        message: "a review without a verdict reached the store".to_owned(),
        source: None,
    })
}

fn trace_of(new: NewTrace, ingest_status: IngestStatus) -> Trace {
    Trace {
        id: new.id,
        task: new.task,
        trajectory: new.trajectory,
        final_response: new.final_response,
        retrieved_memory_ids: new.retrieved_memory_ids,
        ignored_memory_ids: Vec::new(),
        review_status: ReviewStatus::Pending,
        ingest_status,
        ingest_attempts: 0,
        last_ingest_error: None,
        model: new.model,
        metadata: new.metadata,
        reference_context: new.reference_context,
        created_memory_id: None,
        review: None,
        judge_note: None,
        created_at: Some(clock::text(new.created_at)),
    }
}
