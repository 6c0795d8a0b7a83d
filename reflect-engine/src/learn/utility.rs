//! The arithmetic of utilities.
//!
//! A review moves every memory its trace was given by `q <- q + alpha * (r - q)`, with `r` 1 for a
//! pass and 0 for a fail. A memory's utility is the fold of its moves, starting from [`INITIAL`].
//! A replaced review changes its move where it stands in the order, a withdrawn one sets it aside, and
//! [`replay`] computes the steps of the others.

use reflect_types::{Memory, Verdict};

/// The utility of a new memory.
pub const INITIAL: f64 = Memory::INITIAL_Q_VALUE;

/// The effect of a review on a memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Move {
    /// The distance, as a share from 0 to 1.
    pub alpha: f64,
    /// The target: 1 for a pass, 0 for a fail.
    pub reward: f64,
}

/// The utility before and after a move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The utility before the move.
    pub before: f64,
    /// The utility after it.
    pub after: f64,
}

impl Move {
    /// The move of a verdict; `None` for a verdict this version does not know.
    pub fn of(verdict: Verdict, alpha: f64) -> Option<Self> {
        let reward = if verdict.success()? { 1.0 } else { 0.0 };
        Some(Self { alpha, reward })
    }

    /// The utility after the move.
    pub fn apply(self, q: f64) -> f64 {
        // Clamped, because rounding may leave the range.
        (q + self.alpha * (self.reward - q)).clamp(0.0, 1.0)
    }
}

/// The steps of a memory's moves, in order, from [`INITIAL`].
pub fn replay(moves: impl IntoIterator<Item = Move>) -> impl Iterator<Item = Step> {
    moves.into_iter().scan(INITIAL, |q, step| {
        let before = *q;
        *q = step.apply(before);
        Some(Step { before, after: *q })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_move() -> impl Strategy<Value = Move> {
        (0.0..=1.0, any::<bool>()).prop_map(|(alpha, pass)| Move {
            alpha,
            reward: f64::from(u8::from(pass)),
        })
    }

    fn any_history() -> impl Strategy<Value = Vec<Move>> {
        prop::collection::vec(any_move(), 0..40)
    }

    fn end_of(moves: impl IntoIterator<Item = Move>) -> f64 {
        replay(moves).last().map_or(INITIAL, |step| step.after)
    }

    #[test]
    fn a_pass_and_a_fail_move_by_the_documented_amounts() {
        let q = |verdict| Move::of(verdict, 0.3).unwrap().apply(INITIAL);
        assert!((q(Verdict::Pass) - 0.65).abs() < 1e-12);
        assert!((q(Verdict::Fail) - 0.35).abs() < 1e-12);
        assert_eq!(Move::of(Verdict::Unknown, 0.3), None);
    }

    proptest! {
        #[test]
        fn a_utility_stays_in_its_range(history in any_history()) {
            for step in replay(history) {
                prop_assert!((0.0..=1.0).contains(&step.after));
            }
        }

        #[test]
        fn a_pass_never_lowers_and_a_fail_never_raises(q in 0.0..=1.0, step in any_move()) {
            let after = step.apply(q);
            let passed = step.reward > 0.5;
            prop_assert_eq!(after.total_cmp(&q).is_ge(), passed || after.to_bits() == q.to_bits());
        }

        #[test]
        fn a_replay_equals_moving_one_by_one(history in any_history()) {
            let mut q = INITIAL;
            let mut steps = replay(history.clone());
            for step in history {
                let before = q;
                q = step.apply(q);
                prop_assert_eq!(steps.next(), Some(Step { before, after: q }));
            }
            prop_assert_eq!(steps.next(), None);
        }

        #[test]
        fn each_step_starts_where_the_last_ended(history in any_history()) {
            let steps: Vec<_> = replay(history).collect();
            for pair in steps.windows(2) {
                prop_assert_eq!(pair[0].after.to_bits(), pair[1].before.to_bits());
            }
        }

        /// In either order, the result is that of neither review alone.
        #[test]
        fn both_of_two_reviews_count_in_either_order(alpha in 0.01..0.99f64) {
            let pass = Move { alpha, reward: 1.0 };
            let fail = Move { alpha, reward: 0.0 };
            for order in [[pass, fail], [fail, pass]] {
                let both = end_of(order);
                prop_assert!(both < end_of([pass]) && both > end_of([fail]));
            }
            prop_assert!((end_of([pass, pass]) - (1.0 - (1.0 - alpha).powi(2) / 2.0)).abs() < 1e-12);
        }
    }
}
