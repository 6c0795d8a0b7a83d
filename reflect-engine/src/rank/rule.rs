//! How similarity and merit become a score.

use reflect_types::{QueryMemories, Ranking};

use super::merit::Merit;
use super::merits::Merits;
use crate::learn::{Credit, logistic};

/// The rule of a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// `(1 - lambda) * similarity + lambda * q`.
    Classic {
        /// The weight of utility against similarity, from 0 (similarity alone) to 1 (utility alone).
        lambda: f64,
    },
    /// The expected effect of the memory on the log-odds of a pass, as learned from reviews. Memories
    /// that are expected to hurt are left out.
    Learned(Learned),
}

/// What the learned rule knows about all memories.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Learned {
    /// The score below which a memory is left out.
    pub(crate) least: f64,
}

/// The score below which a memory is left out.
const LEAST: f64 = -0.1;
/// The number of reviewed runs with memories before one is left out: until then, what hurts is only
/// assumed.
const RUNS_TO_LEAVE_OUT: f64 = 100.0;
/// The score from which a memory is given to tasks that have nothing in common with its own. Only one that is known to
/// help at any task has it there.
const HELPS_ANYWHERE: f64 = 0.15;
/// The weight of similarity among memories of the same effect, and of what exceeds [`NEAR`]: where the effect does
/// not rise any more, the nearer memory is the safer choice.
const TIE_BREAK: f64 = 0.01;
const NEARER: f64 = 0.2;
/// The similarity of tasks that are near.
const NEAR: f64 = 0.6;

impl Learned {
    /// What was learned from these runs.
    pub(crate) fn from(credit: &Credit) -> Self {
        let is_founded = credit.informed_runs() >= RUNS_TO_LEAVE_OUT;
        Self {
            least: if is_founded { LEAST } else { f64::NEG_INFINITY },
        }
    }
}

impl Rule {
    /// The rule that a query asks for, or else the default. A `lambda` of its own asks for the classic
    /// one.
    pub(crate) fn of(query: &QueryMemories, default: &Ranking, learned: Learned) -> Self {
        let sets_lambda = query.lambda.to_bits() != QueryMemories::DEFAULT_LAMBDA.to_bits();
        let default = if sets_lambda {
            &Ranking::Classic
        } else {
            default
        };
        match query.ranking.as_ref().unwrap_or(default) {
            Ranking::Learned => Self::Learned(learned),
            _ => Self::Classic {
                lambda: query.lambda,
            },
        }
    }

    /// The weight of the score against diversity. The learned rule asks for diversity only if the query
    /// does.
    pub(super) fn mmr_lambda(&self, query: &QueryMemories) -> f64 {
        let is_default = query.mmr_lambda.to_bits() == QueryMemories::DEFAULT_MMR_LAMBDA.to_bits();
        match self {
            Self::Learned(_) if is_default => 1.0,
            _ => query.mmr_lambda,
        }
    }

    /// The score, which never falls with the similarity.
    #[inline]
    pub(crate) fn score(&self, similarity: f64, merit: Merit) -> f64 {
        match self {
            Self::Classic { lambda } => by_utility(weight(*lambda), similarity, merit.q),
            Self::Learned(_) => by_effect(similarity, merit.effect.at(similarity)),
        }
    }

    /// Upper bounds of the scores of rows at these similarities.
    #[expect(
        clippy::inline_always,
        reason = "only what is inlined is compiled for the instruction set"
    )]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the rounding is added to the scores"
    )]
    #[inline(always)]
    pub(crate) fn scores(&self, similarities: &[f32], merits: &Merits, scores: &mut [f32]) {
        match self {
            Self::Classic { lambda } => {
                let weight = weight(*lambda);
                let rows = similarities.iter().zip(&merits.qs);
                for (score, (similarity, q)) in scores.iter_mut().zip(rows) {
                    *score = raised(by_utility(weight, f64::from(*similarity), *q));
                }
            }
            Self::Learned(_) => {
                let rows = merits.effects.with(similarities);
                for (score, (similarity, effect)) in scores.iter_mut().zip(rows) {
                    let nearer = (similarity - NEAR as f32).max(0.0);
                    let nearness = TIE_BREAK as f32 * similarity + NEARER as f32 * nearer;
                    *score = effect.rounded_at(similarity) + nearness + ROUNDING;
                }
            }
        }
    }

    /// The score below which a memory is left out, because it would do more harm than good.
    pub(crate) fn least(&self) -> f64 {
        match self {
            Self::Classic { .. } => f64::NEG_INFINITY,
            Self::Learned(learned) => learned.least,
        }
    }

    /// The score from which a memory need not be similar.
    pub(super) fn waiver(&self) -> f64 {
        match self {
            Self::Classic { .. } => f64::INFINITY,
            Self::Learned(_) => HELPS_ANYWHERE,
        }
    }

    pub(crate) fn ranking(&self) -> Ranking {
        match self {
            Self::Classic { .. } => Ranking::Classic,
            Self::Learned(_) => Ranking::Learned,
        }
    }

    pub(crate) fn is_learned(&self) -> bool {
        matches!(self, Self::Learned(_))
    }

    /// A score as answers show it: from 0 to 1 in place of log-odds.
    pub(crate) fn shown(&self, score: f64) -> f64 {
        match self {
            Self::Classic { .. } => score,
            Self::Learned(_) => logistic(score),
        }
    }

    /// Equal for memories of equal score at every similarity.
    pub(crate) fn identity(&self, merit: Merit) -> u64 {
        match self {
            Self::Classic { lambda } => (weight(*lambda) * merit.q).to_bits(),
            Self::Learned(_) => merit.effect.bits(),
        }
    }
}

/// What is added to similarities and learned scores that are computed in `f32`, so that they are upper bounds. Their
/// terms are a few units at most, and a curve is no steeper than 32.
pub(crate) const ROUNDING: f32 = 2e-5;

/// A number that is not less.
#[expect(clippy::cast_possible_truncation, reason = "what it loses is added")]
#[inline]
fn raised(x: f64) -> f32 {
    let rounded = (x as f32).max(f32::MIN);
    rounded + rounded.abs() * f32::EPSILON + f32::MIN_POSITIVE
}

/// The weight of utility. Outside its range, it would reverse the order of similarities.
fn weight(lambda: f64) -> f64 {
    lambda.clamp(0.0, 1.0)
}

#[inline]
fn by_utility(weight: f64, similarity: f64, q: f64) -> f64 {
    // Adding zero turns -0.0 into 0.0: `total_cmp` tells them apart.
    (1.0 - weight) * similarity + weight * q + 0.0
}

#[inline]
fn by_effect(similarity: f64, effect: f64) -> f64 {
    effect + TIE_BREAK * similarity + NEARER * (similarity - NEAR).max(0.0) + 0.0
}
