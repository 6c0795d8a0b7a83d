//! What holds of a project's traces and memories, whatever crashed meanwhile. For tests.

use std::collections::{BTreeMap, HashMap, HashSet};

use reflect_types::{MemoryHistory, MemoryId, ReviewStatus, Trace, TraceId, Verdict};

use crate::learn;

/// Checks a project without waiting reviews: each reviewed trace made one memory and moved each memory
/// that it was given once, and each utility is the replay of its events. Returns how many moves there
/// were.
///
/// # Panics
///
/// If something was lost or counted twice.
pub fn assert_consistent(traces: &[Trace], memories: &[MemoryHistory]) -> usize {
    let by_id: HashMap<&MemoryId, &MemoryHistory> = memories
        .iter()
        .map(|history| (&history.memory.id, history))
        .collect();
    assert_eq!(by_id.len(), memories.len(), "an id is given twice");
    let mut made = HashSet::new();
    for trace in traces.iter().filter(|trace| trace.review.is_some()) {
        assert_eq!(trace.review_status, ReviewStatus::Reviewed, "{}", trace.id);
        let Some(id) = &trace.created_memory_id else {
            panic!("the review of {} has no memory", trace.id);
        };
        assert_eq!(by_id[id].memory.trace_id, trace.id);
        assert!(made.insert(id), "two traces made one memory");
    }
    assert_eq!(made.len(), memories.len(), "a memory is doubled");
    memories.iter().map(|history| moves(traces, history)).sum()
}

fn moves(traces: &[Trace], history: &MemoryHistory) -> usize {
    let MemoryHistory { memory, events, .. } = history;
    let id = &memory.id;
    let moves = events.iter().map(|event| learn::Move {
        alpha: event.alpha,
        reward: event.reward,
    });
    let mut q = learn::INITIAL;
    for (event, step) in events.iter().zip(learn::replay(moves)) {
        assert_eq!(
            (event.before.to_bits(), event.after.to_bits()),
            (step.before.to_bits(), step.after.to_bits())
        );
        q = step.after;
    }
    assert_eq!(memory.q_value.to_bits(), q.to_bits(), "{id}");
    let users: BTreeMap<&TraceId, u8> = traces
        .iter()
        .filter(|trace| trace.review_status == ReviewStatus::Reviewed)
        .filter(|trace| trace.retrieved_memory_ids.contains(id))
        .filter(|trace| !trace.ignored_memory_ids.contains(id))
        .filter_map(|trace| {
            let passed = trace.review.as_ref()?.result == Verdict::Pass;
            Some((&trace.id, u8::from(passed)))
        })
        .collect();
    let causes: BTreeMap<&TraceId, u8> = events
        .iter()
        .map(|event| (&event.trace_id, u8::from(event.reward > 0.5)))
        .collect();
    assert_eq!(causes.len(), events.len(), "a run moved {id} twice");
    assert_eq!(causes, users, "{id}");
    assert_eq!(memory.uses, events.len() as u64);
    events.len()
}
