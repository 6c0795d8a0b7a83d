//! Undoing what a key, a reviewer or a time has taught.
//!
//! Like a decision about one review, an undo is pure: a store reads a [`TaughtProject`], calls
//! [`undo`] and writes the [`UndoChanges`].

use std::collections::{HashMap, HashSet};

use reflect_types::{MemoryId, MemoryStatus, MovedUtility, UndoReport, UndoneMemory, UndoneTrace};

use super::context::{MovedMemory, RowKey};
use super::moves::replay_all;
use super::rewind::{Effects, Outcome, TraceChange};
use super::selection::Selection;
use super::taught::{LearnedContent, TaughtMemory, TaughtProject};
use super::undo_edits::{RestoredState, take_back};
use super::writes::{EventWrite, UtilityWrite};

/// The rows that an undo changes, to be written in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UndoChanges {
    /// Memories to delete, with their events.
    pub removed: Vec<MemoryId>,
    /// Memories that get the content of a past state, and are active from now on.
    pub contents: Vec<(MemoryId, LearnedContent)>,
    /// Memories whose text, status or changes change.
    pub states: Vec<RestoredState>,
    /// Memories whose utility changes.
    pub utilities: Vec<UtilityWrite>,
    /// Traces whose history changes.
    pub traces: Vec<TraceChange>,
    /// Whether the skill is deleted.
    pub removes_skill: bool,
    /// Traces that no judge reviews from now on.
    pub unjudged: Vec<RowKey>,
    /// What changes, in words for people.
    pub report: UndoReport,
}

/// Decides what an undo changes. Afterwards the project is what it would be if nothing selected had
/// ever been taught.
pub fn undo(project: TaughtProject, selection: &Selection) -> UndoChanges {
    let mut effects = Effects::default();
    let mut changes = UndoChanges::default();
    for history in &project.traces {
        if let Some(change) = effects.take_back(history, selection) {
            if change.outcome != Outcome::Stays {
                changes.report.traces.push(UndoneTrace {
                    trace_id: history.trace_id.clone(),
                    earlier_review: change.outcome != Outcome::Unreviewed,
                });
            }
            changes.report.hidden += change.forget.len() as u64;
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
            if memory.withdrawn {
                changes.report.hidden += 1;
            } else {
                changes.report.removed.push(named);
            }
            continue;
        }
        let content = effects.contents.get(&memory.id);
        if let Some(content) = content {
            changes.contents.push((memory.id.clone(), content.clone()));
        }
        let learned = content.map(|content| &content.learned);
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
        } else {
            changes.report.hidden += 1;
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
    changes.removes_skill =
        project.skill_is_stale || project.skill_sources.iter().any(|id| gone.contains(id));
    report.skill_removed = changes.removes_skill;
    report.unjudged = project.unjudged.len() as u64;
    changes.unjudged = project.unjudged;
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
        match new.status {
            Some(_) => report.restored.push(named),
            None => report.hidden += 1,
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
