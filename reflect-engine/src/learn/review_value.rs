//! Which review would teach most.

use std::fmt;

/// What is known about a memory that a run was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tested {
    pub(crate) q_value: f64,
    /// The number of reviewed runs that were given it.
    pub(crate) uses: u64,
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

/// How much the review of a run with these memories would teach.
pub(crate) fn value(memories: &[Tested], model_has_reviewed: bool) -> f64 {
    let own = match memories {
        [] => NEW_MEMORY,
        memories => memories.iter().map(doubt).sum(),
    };
    if model_has_reviewed {
        own * AFTER_MODEL
    } else {
        own
    }
}

/// How little is known about a memory: 1 if it is untested, towards 0 as its reviews agree.
fn doubt(memory: &Tested) -> f64 {
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

/// Why the review of a run with these memories has its value.
pub(crate) fn reason(memories: &[Tested]) -> ReviewReason {
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
    use super::*;

    fn tested(memories: &[(f64, u64)]) -> Vec<Tested> {
        let tested = |(q_value, uses): &(f64, u64)| Tested {
            q_value: *q_value,
            uses: *uses,
        };
        memories.iter().map(tested).collect()
    }

    #[test]
    fn untested_memories_come_first_then_disputed_harmful_none_and_proven_ones() {
        let mut runs = [
            ("1 memory, well proven", tested(&[(0.97, 40)])),
            (
                "used a memory that rarely helps (0.12)",
                tested(&[(0.9, 3), (0.12, 3)]),
            ),
            ("no memories", tested(&[])),
            ("used a disputed memory (0.48)", tested(&[(0.48, 3)])),
            ("used a memory that was tested once", tested(&[(0.65, 1)])),
            ("used an untested memory", tested(&[(0.5, 0)])),
            ("used 2 untested memories", tested(&[(0.5, 0), (0.5, 0)])),
        ];
        for (why, memories) in &runs {
            assert_eq!(reason(memories).to_string(), *why);
        }
        runs.sort_by(|(_, a), (_, b)| value(b, false).total_cmp(&value(a, false)));
        let order = runs.each_ref().map(|(why, _)| *why);
        let expected = [
            "used 2 untested memories",
            "used an untested memory",
            "used a memory that was tested once",
            "used a disputed memory (0.48)",
            "used a memory that rarely helps (0.12)",
            "no memories",
            "1 memory, well proven",
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn a_run_that_a_model_has_reviewed_teaches_less() {
        let untested = tested(&[(0.5, 0)]);
        assert!(value(&untested, true) < value(&untested, false));
    }
}
