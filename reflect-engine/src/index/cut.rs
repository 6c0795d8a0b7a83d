//! The score that a row needs to be in the pool.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use fearless_simd::{Level, dispatch};

use super::code::to_f32;
use super::probe::Bounds;
use crate::rank::{Merit, Params};

/// The number of rows that are ruled out together, where none is admitted.
const TOGETHER: usize = 16;

/// The score below which a row cannot be in the pool.
///
/// It is the lowest of the pool's best rows, each counted with its lowest possible score and only if
/// it is surely near enough. The operations that compute scores from similarities are monotonic,
/// rounding included, so bounds of a similarity become bounds of the exact ranking's score.
#[derive(Debug)]
pub(super) struct Cut {
    params: Params,
    /// The score below which the rule leaves out every row.
    least: f64,
    pool: usize,
    best: BinaryHeap<Reverse<RankKey>>,
    /// The worst of the best rows, once the pool is full.
    worst: Option<RankKey>,
}

impl Cut {
    pub(super) fn new(params: Params) -> Self {
        Self {
            params,
            least: params.rule.least(),
            pool: params.pool(),
            best: BinaryHeap::new(),
            worst: None,
        }
    }

    pub(super) fn params(&self) -> &Params {
        &self.params
    }

    /// Whether the score alone rules a row out.
    #[inline]
    pub(super) fn excludes(&self, high: f64) -> bool {
        high < self.least || self.worst.is_some_and(|worst| high < worst.score)
    }

    /// Whether a row is ruled out by upper bounds of its similarity and its score.
    #[inline]
    pub(super) fn surely_misses(&self, similarity: f64, high: f64) -> bool {
        !self.params.is_near(similarity, high) || self.excludes(high)
    }

    /// Finds the places of the rows that upper bounds of their similarities and scores do not rule out.
    pub(super) fn admitted(&self, similarities: &[f32], scores: &[f32], places: &mut Vec<usize>) {
        dispatch!(Level::new(), _simd => self.admitted_inlined(similarities, scores, places));
    }

    #[expect(
        clippy::needless_bitwise_bool,
        reason = "without branches it is vectorized"
    )]
    #[inline(always)]
    fn admitted_inlined(&self, similarities: &[f32], scores: &[f32], places: &mut Vec<usize>) {
        let worst = self.worst.map_or(f64::NEG_INFINITY, |worst| worst.score);
        let (floor, waiver) = (self.params.floor.similarity(), self.params.waiver());
        let [floor, waiver, least] = [floor, waiver, self.least.max(worst)].map(below);
        let admits = |similarity: f32, score: f32| {
            ((similarity >= floor) | (score >= waiver)) & (score >= least)
        };
        places.clear();
        let runs = similarities.chunks(TOGETHER).zip(scores.chunks(TOGETHER));
        for (run, (similarities, scores)) in runs.enumerate() {
            let rows = similarities.iter().zip(scores);
            let mut any = false;
            for (similarity, score) in rows.clone() {
                any |= admits(*similarity, *score);
            }
            // Most runs end here.
            if any {
                let admitted = rows.enumerate().filter(|(_, (a, b))| admits(**a, **b));
                places.extend(admitted.map(|(at, _)| run * TOGETHER + at));
            }
        }
    }

    /// Records the row; returns whether it may be in the pool.
    pub(super) fn admits(&mut self, bounds: Bounds, merit: Merit, high: f64, key: i64) -> bool {
        if self.surely_misses(bounds.high, high) || !self.still_admits(high, key) {
            return false;
        }
        let low = RankKey {
            score: self.params.score(bounds.low, merit),
            key,
        };
        let surely_ranks = self.params.is_near(bounds.low, low.score) && low.score >= self.least;
        if surely_ranks && self.worst.is_none_or(|worst| low > worst) {
            self.best.push(Reverse(low));
            if self.best.len() > self.pool {
                self.best.pop();
            }
            if self.best.len() == self.pool {
                self.worst = self.best.peek().map(|Reverse(worst)| *worst);
            }
        }
        true
    }

    /// Whether a row with this highest score may still be in the pool.
    pub(super) fn still_admits(&self, high: f64, key: i64) -> bool {
        let row = RankKey { score: high, key };
        self.worst.is_none_or(|worst| row >= worst)
    }
}

/// A number that is not greater.
fn below(x: f64) -> f32 {
    to_f32(x).next_down()
}

/// A score and the key that breaks ties. The greater ranks first.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankKey {
    pub(super) score: f64,
    pub(super) key: i64,
}

impl Ord for RankKey {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then(other.key.cmp(&self.key))
    }
}

impl PartialOrd for RankKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for RankKey {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for RankKey {}
