//! Which review would teach most.

use std::fmt;

use crate::store::{UsedMemory, WaitingTrace};

/// A trace that waits for a person's review, and what the review would teach.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedReview {
    /// The trace.
    pub waiting: WaitingTrace,
    /// Why it has its place in the queue.
    pub reason: ReviewReason,
}

/// What a review would teach.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum ReviewReason {
    /// The run was given memories that no review has tested.
    Untested {
        /// How many.
        count: usize,
    },
    /// The run was given a memory whose reviews disagree.
    Disputed {
        /// The memory's utility.
        q_value: f64,
    },
    /// The run was given a memory that one review has tested.
    TestedOnce,
    /// The run was given none, so that its review makes a new memory and moves no other.
    NoMemories,
    /// The run was given a memory whose runs mostly failed.
    Harmful {
        /// The memory's utility.
        q_value: f64,
    },
    /// The run was given only memories that reviews agree about.
    Proven {
        /// How many.
        count: usize,
    },
}

impl fmt::Display for ReviewReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untested { count: 1 } => f.write_str("used an untested memory"),
            Self::Untested { count } => write!(f, "used {count} untested memories"),
            Self::TestedOnce => f.write_str("used a memory that was tested once"),
            Self::Disputed { q_value } => write!(f, "used a disputed memory ({q_value:.2})"),
            Self::Harmful { q_value } => {
                write!(f, "used a memory that rarely helps ({q_value:.2})")
            }
            Self::NoMemories => f.write_str("no memories"),
            Self::Proven { count: 1 } => f.write_str("1 memory, well proven"),
            Self::Proven { count } => write!(f, "{count} memories, well proven"),
        }
    }
}

/// How far from 0.5 the utility of a disputed memory is at most.
const DISPUTED: f64 = 0.2;
/// What a review teaches that moves no memory.
const NEW_MEMORY: f64 = 0.3;
/// How much a person's review teaches after a model's.
const AFTER_MODEL: f64 = 0.5;

/// The traces whose review would teach most first; among equals, in their order.
pub(crate) fn most_to_learn_first(waiting: Vec<WaitingTrace>) -> Vec<QueuedReview> {
    let mut valued: Vec<(f64, QueuedReview)> = waiting
        .into_iter()
        .map(|waiting| {
            let value = value(&waiting);
            let reason = reason(&waiting.memories);
            (value, QueuedReview { waiting, reason })
        })
        .collect();
    valued.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    valued.into_iter().map(|(_, queued)| queued).collect()
}

fn value(waiting: &WaitingTrace) -> f64 {
    let own = match waiting.memories.as_slice() {
        [] => NEW_MEMORY,
        memories => memories.iter().map(doubt).sum(),
    };
    match waiting.suggestion {
        Some(_) => own * AFTER_MODEL,
        None => own,
    }
}

/// How little is known about a memory: 1 if it is untested, towards 0 as its reviews agree.
fn doubt(memory: &UsedMemory) -> f64 {
    if memory.uses == 0 {
        return 1.0;
    }
    let q = memory.q_value.clamp(0.0, 1.0);
    #[expect(
        clippy::cast_precision_loss,
        reason = "a count of reviews is far below 2^52"
    )]
    let uses = memory.uses as f64;
    4.0 * q * (1.0 - q) / (1.0 + uses).sqrt()
}

fn reason(memories: &[UsedMemory]) -> ReviewReason {
    let untested = memories.iter().filter(|memory| memory.uses == 0).count();
    if untested > 0 {
        return ReviewReason::Untested { count: untested };
    }
    let disputed = memories
        .iter()
        .filter(|memory| (memory.q_value - 0.5).abs() <= DISPUTED)
        .max_by(|a, b| doubt(a).total_cmp(&doubt(b)));
    let lowest = memories.iter().map(|memory| memory.q_value);
    match (disputed, lowest.min_by(f64::total_cmp)) {
        (_, None) => ReviewReason::NoMemories,
        (Some(memory), _) if memory.uses == 1 => ReviewReason::TestedOnce,
        (Some(memory), _) => ReviewReason::Disputed {
            q_value: memory.q_value,
        },
        (None, Some(q_value)) if q_value < 0.5 => ReviewReason::Harmful { q_value },
        (None, Some(_)) => ReviewReason::Proven {
            count: memories.len(),
        },
    }
}

#[cfg(test)]
mod tests {
    use reflect_types::{IngestStatus, ModelVerdict, Verdict};

    use super::*;
    use crate::store::TraceOverview;

    fn waiting(id: &str, memories: &[(f64, u64)]) -> WaitingTrace {
        let memories = memories.iter().map(|(q_value, uses)| UsedMemory {
            id: "m".into(),
            q_value: *q_value,
            uses: *uses,
        });
        WaitingTrace {
            trace: TraceOverview {
                id: id.into(),
                task: "t".to_owned(),
                model: None,
                created_at: String::new(),
                ingest_status: IngestStatus::Completed,
                verdict: None,
                reviewer: None,
                given: 0,
            },
            suggestion: None,
            memories: memories.collect(),
        }
    }

    #[test]
    fn untested_memories_come_first_then_disputed_harmful_none_and_proven_ones() {
        let queue = most_to_learn_first(vec![
            waiting("proven", &[(0.97, 40)]),
            waiting("harmful", &[(0.9, 3), (0.12, 3)]),
            waiting("none", &[]),
            waiting("disputed", &[(0.48, 3)]),
            waiting("once", &[(0.65, 1)]),
            waiting("one untested", &[(0.5, 0)]),
            waiting("two untested", &[(0.5, 0), (0.5, 0)]),
        ]);
        let order: Vec<_> = queue
            .iter()
            .map(|queued| (queued.waiting.trace.id.as_str(), queued.reason.to_string()))
            .collect();
        let expected = [
            ("two untested", "used 2 untested memories"),
            ("one untested", "used an untested memory"),
            ("once", "used a memory that was tested once"),
            ("disputed", "used a disputed memory (0.48)"),
            ("harmful", "used a memory that rarely helps (0.12)"),
            ("none", "no memories"),
            ("proven", "1 memory, well proven"),
        ];
        assert_eq!(order, expected.map(|(id, why)| (id, why.to_owned())));
    }

    #[test]
    fn a_run_that_a_model_has_reviewed_teaches_less() {
        let mut judged = waiting("judged", &[(0.5, 0)]);
        judged.suggestion = Some(ModelVerdict {
            model: "gpt".to_owned(),
            result: Verdict::Pass,
        });
        let queue = most_to_learn_first(vec![judged, waiting("new", &[(0.5, 0)])]);
        assert_eq!(queue[0].waiting.trace.id.as_str(), "new");
    }
}
