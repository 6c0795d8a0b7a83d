//! Undoing what a key, a reviewer or a time has taught.
//!
//! Like a decision about one review, an undo is pure: a store reads a [`TaughtProject`], calls
//! [`undo`] and writes the [`UndoChanges`].

use std::collections::{HashMap, HashSet};

use reflect_types::{
    MemoryId, MemoryStatus, MovedUtility, TraceId, UndoReport, UndoneMemory, UndoneTrace,
};

use super::amend::LearnedText;
use super::changes::{EventWrite, UtilityWrite};
use super::moves::{Fate, replay_all};
use super::restate::{RestoredState, take_back};
use super::standing::{MovedMemory, RecordedEvent, RowKey};
use super::taught::{
    GivenReview, PastReview, PastState, ReviewHistory, Selection, TaughtEvent, TaughtMemory,
    TaughtProject,
};
use super::teacher::Teacher;
use crate::learn::Move;

/// The rows that an undo changes, to be written in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UndoChanges {
    /// Memories to delete, with their events.
    pub removed: Vec<MemoryId>,
    /// Memories that get the content of a past state, and are active from now on.
    pub contents: Vec<(RowKey, MemoryId)>,
    /// Memories whose text, status or changes change.
    pub states: Vec<RestoredState>,
    /// Memories whose utility changes.
    pub utilities: Vec<UtilityWrite>,
    /// Traces whose history changes.
    pub traces: Vec<TraceChange>,
    /// Whether the skill is deleted.
    pub removes_skill: bool,
    /// What changes, in words for people.
    pub report: UndoReport,
}

/// A change of a trace's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceChange {
    /// The trace.
    pub trace: RowKey,
    /// What becomes of its review. Written before the past states are deleted.
    pub outcome: Outcome,
    /// The past states to delete.
    pub forget: Vec<RowKey>,
}

/// What becomes of a trace's review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It stays as it is.
    Stays,
    /// The trace waits for a person's review. A judge does not review it again.
    Unreviewed,
    /// This past state is the review again; its memory is among
    /// [`contents`](UndoChanges::contents).
    Restored(RowKey),
    /// This past state is the review again, and its memory has to be written.
    Requeued(RowKey),
}

/// Decides what an undo changes. Afterwards the project is what it would be if nothing selected had
/// ever been taught.
pub fn undo(project: TaughtProject, selection: &Selection) -> UndoChanges {
    let mut effects = Effects::default();
    let mut changes = UndoChanges::default();
    for history in &project.traces {
        if let Some(change) = effects.take_back(history, selection) {
            let current = history.current.is_some() && change.outcome != Outcome::Stays;
            changes.report.reviews += change.forget.len() as u64 + u64::from(current);
            if change.outcome != Outcome::Stays {
                changes.report.traces.push(UndoneTrace {
                    trace_id: history.trace_id.clone(),
                    earlier_review: change.outcome != Outcome::Unreviewed,
                });
            }
            changes.traces.push(change);
        }
    }
    let mut moved = Vec::new();
    let mut moved_as = HashMap::new();
    for memory in project.memories {
        let named = UndoneMemory {
            memory_id: memory.id.clone(),
            task: memory.task.clone(),
        };
        if effects.removes(&memory, selection) {
            changes.removed.push(memory.id.clone());
            // One that is set aside has gone already.
            if !memory.withdrawn {
                changes.report.removed.push(named);
            }
            continue;
        }
        let content = effects.contents.get(&memory.id);
        if let Some((state, _)) = content {
            changes.contents.push((*state, memory.id.clone()));
        }
        let learned = content.map(|(_, learned)| learned);
        if let Some(state) = take_back(&memory, learned, selection) {
            report_state(&mut changes.report, &memory, &state, named);
            changes.states.push(state);
        }
        let selected: HashSet<RowKey> = memory
            .events
            .iter()
            .filter(|taught| effects.is_orphan(taught, selection))
            .map(|taught| taught.event.key)
            .collect();
        effects.orphans.extend(selected);
        let visible = !memory.withdrawn || effects.contents.contains_key(&memory.id);
        moved_as.insert(memory.key, (memory.id, memory.task, memory.q, visible));
        moved.push(MovedMemory {
            memory: memory.key,
            events: memory
                .events
                .into_iter()
                .map(|taught| taught.event)
                .collect(),
        });
    }
    for write in replay_all(moved, |event| effects.fate(event)) {
        if write.events.is_empty() {
            continue;
        }
        if let Some((id, task, before, true)) = moved_as.remove(&write.memory) {
            let removed = |event: &&EventWrite| matches!(event, EventWrite::Remove(_));
            changes.report.events += write.events.iter().filter(removed).count() as u64;
            if before.to_bits() != write.q.to_bits() {
                changes.report.moved.push(MovedUtility {
                    memory_id: id,
                    task,
                    before,
                    after: write.q,
                });
            }
        }
        changes.utilities.push(write);
    }
    let report = &mut changes.report;
    let changed = report.restored.iter().chain(&report.rewritten);
    let changed = changed.chain(&report.quarantined);
    let gone: HashSet<&MemoryId> = changes
        .removed
        .iter()
        .chain(changed.map(|memory| &memory.memory_id))
        .collect();
    changes.removes_skill = project.skill_sources.iter().any(|id| gone.contains(id));
    report.skill_removed = changes.removes_skill;
    changes
}

/// Reports what can be seen of a memory's new state.
fn report_state(
    report: &mut UndoReport,
    memory: &TaughtMemory,
    new: &RestoredState,
    named: UndoneMemory,
) {
    if memory.withdrawn {
        if new.status.is_some() {
            report.restored.push(named);
        }
        return;
    }
    if new.is_rewritten || new.reflection != memory.state.reflection {
        report.rewritten.push(named.clone());
    }
    match &new.status {
        Some(status) if *status == memory.state.status => {}
        Some(MemoryStatus::Quarantined) => report.quarantined.push(named),
        Some(_) => report.restored.push(named),
        None => {}
    }
}

/// What the changed histories mean for memories and events.
#[derive(Default)]
struct Effects {
    /// The reviews of all histories.
    known: HashSet<String>,
    /// The traces of all histories.
    traces: HashSet<TraceId>,
    /// Reviews that never were.
    erased: HashSet<String>,
    /// Reviews that are what they were before.
    revised: HashMap<String, (Move, Teacher)>,
    /// Memories that were never learned.
    unlearned: HashSet<MemoryId>,
    /// Memories that get the content of a past state.
    contents: HashMap<MemoryId, (RowKey, LearnedText)>,
    /// Selected events of reviews without a history, such as those of deleted traces.
    orphans: HashSet<RowKey>,
}

impl Effects {
    fn take_back(&mut self, history: &ReviewHistory, selection: &Selection) -> Option<TraceChange> {
        let trace_id = &history.trace_id;
        let covered = |given: &GivenReview| selection.covers(trace_id, &given.teacher, given.at);
        let states = history.past.iter().map(|state| &state.given);
        let reviews = states
            .chain(&history.current)
            .filter_map(|given| given.review.as_ref());
        self.known.extend(reviews.map(|review| review.id.clone()));
        self.traces.insert(trace_id.clone());

        let (gone, kept): (Vec<&PastState>, Vec<&PastState>) =
            history.past.iter().partition(|state| covered(&state.given));
        let current_goes = history.current.as_ref().is_some_and(covered);
        if gone.is_empty() && !current_goes {
            return None;
        }
        let standing = history.current.as_ref().filter(|_| !current_goes);
        // Without a review, the last state is the withdrawal that led to it.
        let stays = match &history.current {
            Some(_) => !current_goes,
            None => history.past.last().is_none_or(|last| !covered(&last.given)),
        };
        let last = kept.last().filter(|_| !stays);
        let restored = last.and_then(|state| Some((state, state.given.review.as_ref()?)));

        let mut live: Vec<&PastReview> = kept
            .iter()
            .filter_map(|s| s.given.review.as_ref())
            .collect();
        live.extend(standing.and_then(|given| given.review.as_ref()));
        let leaving = gone.iter().map(|state| &state.given);
        let leaving = leaving.chain(history.current.iter().filter(|_| current_goes));
        for review in leaving.filter_map(|given| given.review.as_ref()) {
            if live.iter().all(|other| other.id != review.id) {
                self.erased.insert(review.id.clone());
            }
            if let Some(memory) = &review.memory
                && live
                    .iter()
                    .all(|other| other.memory.as_ref() != Some(memory))
            {
                self.unlearned.insert(memory.clone());
            }
        }
        let outcome = match restored {
            _ if stays => Outcome::Stays,
            None => Outcome::Unreviewed,
            Some((state, review)) => self.put_back(state, review),
        };
        Some(TraceChange {
            trace: history.trace,
            outcome,
            forget: gone.iter().map(|state| state.key).collect(),
        })
    }

    /// A past state is the review again.
    fn put_back(&mut self, state: &PastState, review: &PastReview) -> Outcome {
        let change = Move::of(review.verdict, review.alpha);
        let memory = review.memory.clone().zip(state.learned.clone());
        let (Some((memory, learned)), Some(change)) = (memory, change) else {
            self.erased.insert(review.id.clone());
            return Outcome::Requeued(state.key);
        };
        self.contents.insert(memory, (state.key, learned));
        let taught = (change, state.given.teacher.clone());
        self.revised.insert(review.id.clone(), taught);
        Outcome::Restored(state.key)
    }

    fn removes(&self, memory: &TaughtMemory, selection: &Selection) -> bool {
        let orphan = !self.traces.contains(&memory.trace_id);
        self.unlearned.contains(&memory.id)
            || (orphan && selection.covers(&memory.trace_id, &memory.teacher, memory.at))
    }

    fn is_orphan(&self, taught: &TaughtEvent, selection: &Selection) -> bool {
        let TaughtEvent { trace_id, event } = taught;
        !self.known.contains(&event.review_id)
            && selection.covers(trace_id, &event.teacher, event.at)
    }

    fn fate(&self, event: &RecordedEvent) -> Option<Fate> {
        if self.orphans.contains(&event.key) || self.erased.contains(&event.review_id) {
            return Some(Fate::Remove);
        }
        let (change, teacher) = self.revised.get(&event.review_id)?;
        Some(Fate::Become(*change, teacher.clone()))
    }
}
