//! The moves of a review: [`make`] appends them, [`revise`] changes them and [`make_void`] stops them from
//! counting. A revised or set-aside move keeps its place in the order of its memory's events. A review
//! given after a withdrawal has an id of its own, and its moves are appended.

use std::collections::HashSet;

use jiff::Timestamp;
use reflect_types::MemoryId;

use super::context::{MovedMemory, RecordedEvent, ShownMemory};
use super::teacher::Teacher;
use super::writes::{EventWrite, NewEvent, UtilityWrite};
use crate::learn::{self, Move, Step};

/// Moves each given memory once, a withdrawn one included. Also returns the ids of those that do not
/// exist or are withdrawn.
pub(super) fn make(
    given: Vec<ShownMemory>,
    review_id: &str,
    teacher: &Teacher,
    change: Move,
    created_at: Timestamp,
) -> (Vec<UtilityWrite>, Vec<MemoryId>) {
    let (mut writes, mut ignored, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for ShownMemory { id, utility } in given {
        if !seen.insert(id.clone()) {
            continue;
        }
        let Some(utility) = utility else {
            ignored.push(id);
            continue;
        };
        if utility.withdrawn {
            ignored.push(id);
        }
        let (before, after) = (utility.q, change.apply(utility.q));
        let event = NewEvent {
            review_id: review_id.to_owned(),
            teacher: teacher.clone(),
            change,
            step: Step { before, after },
            created_at,
        };
        writes.push(UtilityWrite {
            memory: utility.memory,
            q: after,
            uses: utility.uses + 1,
            events: vec![EventWrite::Append(event)],
        });
    }
    (writes, ignored)
}

/// Replays the memories as if the review had always moved them by `change`.
pub(super) fn revise(
    moved: Vec<MovedMemory>,
    review_id: &str,
    teacher: &Teacher,
    change: Move,
) -> Vec<UtilityWrite> {
    replay_all(moved, |event| {
        let own = event.review_id == review_id && !event.void;
        own.then(|| Fate::Become(change, teacher.clone()))
    })
}

/// Replays the memories without the review, and sets its events aside.
pub(super) fn make_void(moved: Vec<MovedMemory>, review_id: &str) -> Vec<UtilityWrite> {
    replay_all(moved, |event| {
        let own = event.review_id == review_id && !event.void;
        own.then_some(Fate::Void)
    })
}

/// What becomes of an event.
pub(super) enum Fate {
    /// It counts as this move from now on, caused by this teacher.
    Become(Move, Teacher),
    /// It is kept and does not count.
    Void,
    /// It is deleted.
    Remove,
}

/// Replays each memory with the fates of its events; `None` leaves an event as it is.
pub(super) fn replay_all(
    moved: Vec<MovedMemory>,
    fate: impl Fn(&RecordedEvent) -> Option<Fate>,
) -> Vec<UtilityWrite> {
    let replay = |MovedMemory { memory, events }| {
        let (mut counted, mut writes) = (Vec::new(), Vec::new());
        for event in events {
            match fate(&event) {
                Some(Fate::Become(change, teacher)) => counted.push((event, change, Some(teacher))),
                Some(Fate::Void) => writes.push(EventWrite::Void(event.key)),
                Some(Fate::Remove) => writes.push(EventWrite::Remove(event.key)),
                None if event.void => {}
                None => {
                    let change = event.change;
                    counted.push((event, change, None));
                }
            }
        }
        let (mut q, uses) = (learn::INITIAL, counted.len() as u64);
        let steps: Vec<Step> =
            learn::replay(counted.iter().map(|(_, change, _)| *change)).collect();
        for ((event, change, teacher), step) in counted.into_iter().zip(steps) {
            q = step.after;
            let same_teacher = teacher.as_ref().is_none_or(|new| *new == event.teacher);
            let same_move = (change, step) == (event.change, event.step);
            if event.void || !same_move || !same_teacher {
                writes.push(EventWrite::Update {
                    key: event.key,
                    change,
                    step,
                    teacher,
                });
            }
        }
        UtilityWrite {
            memory,
            q,
            uses,
            events: writes,
        }
    };
    moved.into_iter().map(replay).collect()
}
