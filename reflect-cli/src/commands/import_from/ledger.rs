//! What the runs of a project say about the utilities of its memories.

use std::collections::HashMap;

use reflect_engine::learn;
use reflect_types::{
    Memory, MemoryId, Review, ReviewRecord, ReviewStatus, Reviewer, Trace, TraceId, UtilityEvent,
    Verdict,
};

use super::time;

/// The runs of a project, without their messages.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    runs: Vec<Run>,
}

#[derive(Debug)]
struct Run {
    id: TraceId,
    created_at: Option<String>,
    /// The memories that its review moved.
    credited: Vec<MemoryId>,
    review: Option<ReviewRecord>,
}

/// The moves of memories, oldest first.
#[derive(Debug, Default)]
pub(super) struct Moves(HashMap<MemoryId, Vec<Move>>);

#[derive(Debug)]
struct Move {
    trace_id: TraceId,
    review_id: String,
    verdict: Verdict,
    reviewer: Option<Reviewer>,
    created_at: Option<String>,
}

impl Ledger {
    /// Notes a run, in the order in which the server lists them.
    pub(super) fn note(&mut self, trace: &Trace) {
        let mut credited = trace.retrieved_memory_ids.clone();
        credited.sort_unstable();
        credited.dedup();
        credited.retain(|id| !trace.ignored_memory_ids.contains(id));
        let review = trace.review.clone();
        self.runs.push(Run {
            id: trace.id.clone(),
            created_at: trace.created_at.clone(),
            credited,
            review: review.filter(|_| trace.review_status == ReviewStatus::Reviewed),
        });
    }

    pub(super) fn len(&self) -> usize {
        self.runs.len()
    }

    /// The runs, oldest first, and what they moved. Without times, servers list the newest first.
    pub(super) fn finish(mut self) -> (Vec<TraceId>, Moves) {
        self.runs.reverse();
        if self.runs.iter().all(|run| run.created_at.is_some()) {
            self.runs
                .sort_by_key(|run| time::parsed(run.created_at.as_deref()));
        }
        let mut moves = Moves::default();
        for run in &self.runs {
            let Some(review) = &run.review else { continue };
            for id in &run.credited {
                moves.0.entry(id.clone()).or_default().push(Move {
                    trace_id: run.id.clone(),
                    review_id: review.id.clone(),
                    verdict: review.result,
                    reviewer: review.reviewer.clone(),
                    created_at: run.created_at.clone(),
                });
            }
        }
        (self.runs.into_iter().map(|run| run.id).collect(), moves)
    }
}

impl Moves {
    /// The number of reviewed runs that were given a memory.
    pub(super) fn uses(&self, memory: &MemoryId) -> u64 {
        self.0.get(memory).map_or(0, |moves| moves.len() as u64)
    }

    /// The events that lead to the utility of a memory. Reviews are taken to have had the default learning
    /// rate, which the API does not tell; where that leads elsewhere, a last event makes up for it.
    pub(super) fn events(&self, memory: &Memory, now: &str) -> Vec<UtilityEvent> {
        let mut q = Memory::INITIAL_Q_VALUE;
        let mut events: Vec<UtilityEvent> = Vec::new();
        for moved in self.0.get(&memory.id).into_iter().flatten() {
            let Some(step) = learn::Move::of(moved.verdict, Review::DEFAULT_ALPHA) else {
                continue;
            };
            let after = step.apply(q);
            events.push(UtilityEvent {
                memory_id: memory.id.clone(),
                trace_id: moved.trace_id.clone(),
                review_id: moved.review_id.clone(),
                alpha: step.alpha,
                reward: step.reward,
                before: q,
                after,
                key_id: None,
                reviewer: moved.reviewer.clone(),
                created_at: time::normal(moved.created_at.as_deref(), now),
            });
            q = after;
        }
        let aim = memory.q_value.clamp(0.0, 1.0);
        if (aim - q).abs() > 1e-9 {
            let reward = if aim > q { 1.0 } else { 0.0 };
            let alpha = ((aim - q) / (reward - q)).clamp(0.0, 1.0);
            events.push(UtilityEvent {
                memory_id: memory.id.clone(),
                trace_id: TraceId::new("imported"),
                review_id: format!("imported-{}", memory.id),
                alpha,
                reward,
                before: q,
                after: learn::Move { alpha, reward }.apply(q),
                key_id: None,
                reviewer: None,
                created_at: now.to_owned(),
            });
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn trace(id: &str, verdict: &str, given: &[&str]) -> Trace {
        let review = json!({"id": format!("r-{id}"), "trace_id": id, "result": verdict});
        serde_json::from_value(json!({
            "id": id, "task": "t", "review_status": "reviewed", "retrieved_memory_ids": given,
            "review": review,
        }))
        .unwrap()
    }

    fn memory(q_value: f64) -> Memory {
        serde_json::from_value(json!({
            "id": "m", "task": "t", "reflection": "r", "q_value": q_value,
        }))
        .unwrap()
    }

    #[test]
    fn the_moves_of_a_memory_lead_to_its_utility() {
        let mut ledger = Ledger::default();
        // Newest first, as servers list them.
        ledger.note(&trace("third", "fail", &["other"]));
        ledger.note(&trace("second", "fail", &["m"]));
        ledger.note(&trace("first", "pass", &["m", "m"]));
        let (runs, moves) = ledger.finish();
        assert_eq!(runs, ["first", "second", "third"]);
        assert_eq!(moves.uses(&"m".into()), 2);
        let exact = moves.events(&memory(0.455), "2026-01-01T00:00:00Z");
        let after: Vec<_> = exact.iter().map(|event| event.after).collect();
        assert_eq!(after.len(), 2);
        assert!((after[1] - 0.455).abs() < 1e-12, "{after:?}");
        for aim in [0.9, 0.1, 0.0, 1.0] {
            let other = moves.events(&memory(aim), "2026-01-01T00:00:00Z");
            assert_eq!(other.len(), 3);
            assert!((other[2].after - aim).abs() < 1e-12, "{other:?}");
        }
    }
}
