//! How a review moves the utilities of memories, moves them differently, or no longer.

use std::collections::HashSet;

use jiff::Timestamp;
use reflect_types::MemoryId;

use super::changes::{EventWrite, NewEvent, UtilityWrite};
use super::standing::{GivenMemory, MovedMemory, RecordedEvent};
use crate::learn::{self, Move, Step};

/// Moves each given memory once; also returns the ids of those that do not exist.
pub(super) fn make(
    given: Vec<GivenMemory>,
    review_id: &str,
    change: Move,
    created_at: Timestamp,
) -> (Vec<UtilityWrite>, Vec<MemoryId>) {
    let (mut writes, mut ignored, mut seen) = (Vec::new(), Vec::new(), HashSet::new());
    for GivenMemory { id, utility } in given {
        if !seen.insert(id.clone()) {
            continue;
        }
        let Some(utility) = utility else {
            ignored.push(id);
            continue;
        };
        let (before, after) = (utility.q, change.apply(utility.q));
        let event = NewEvent {
            review_id: review_id.to_owned(),
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
pub(super) fn revise(moved: Vec<MovedMemory>, review_id: &str, change: Move) -> Vec<UtilityWrite> {
    replay_all(moved, |event| {
        let own = event.review_id == review_id;
        Some(if own { change } else { event.change })
    })
}

/// Replays the memories as if the review had never been.
pub(super) fn retract(moved: Vec<MovedMemory>, review_id: &str) -> Vec<UtilityWrite> {
    replay_all(moved, |event| {
        (event.review_id != review_id).then_some(event.change)
    })
}

/// Replays each memory with the moves that `of` gives its events; `None` removes the event.
fn replay_all(
    moved: Vec<MovedMemory>,
    of: impl Fn(&RecordedEvent) -> Option<Move>,
) -> Vec<UtilityWrite> {
    let replay = |MovedMemory { memory, events }| {
        let (mut kept, mut writes) = (Vec::new(), Vec::new());
        for event in events {
            match of(&event) {
                Some(change) => kept.push((event, change)),
                None => writes.push(EventWrite::Remove(event.key)),
            }
        }
        let mut q = learn::INITIAL;
        let steps = learn::replay(kept.iter().map(|(_, change)| *change));
        for ((event, change), step) in kept.iter().zip(steps) {
            q = step.after;
            if (*change, step) != (event.change, event.step) {
                let (key, change) = (event.key, *change);
                writes.push(EventWrite::Update { key, change, step });
            }
        }
        UtilityWrite {
            memory,
            q,
            uses: kept.len() as u64,
            events: writes,
        }
    };
    moved.into_iter().map(replay).collect()
}
