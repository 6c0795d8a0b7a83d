//! The score that a row needs to be in the pool.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::probe::Bounds;
use crate::rank::{Merit, MeritRange, Params};

/// The number of times that the range of similarities is halved to find the least that may rank.
const HALVINGS: usize = 8;

/// The score below which a row cannot be in the pool.
///
/// It is the lowest of the pool's best rows, each counted with its lowest possible score and only if
/// it surely reaches the floor. The operations that compute scores from similarities are monotonic,
/// rounding included, so bounds of a similarity become bounds of the exact ranking's score.
#[derive(Debug)]
pub(super) struct Cut {
    params: Params,
    /// The score below which the rule leaves out every row.
    least: f64,
    pool: usize,
    best: BinaryHeap<Reverse<Standing>>,
    /// The worst of the best rows, once the pool is full.
    worst: Option<Standing>,
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

    /// Whether the bounds alone rule the row out.
    #[inline]
    pub(super) fn surely_misses(&self, bounds: Bounds, high: f64) -> bool {
        bounds.high < self.params.floor || self.excludes(high)
    }

    /// A similarity below which the bounds alone rule out every row of these merits.
    pub(super) fn least_similarity(&self, merits: &MeritRange) -> f64 {
        let excludes = |high| self.excludes(self.params.highest_score(high, merits));
        let (mut low, mut high) = (-1.0, 1.0);
        if excludes(low) {
            for _ in 0..HALVINGS {
                let middle = f64::midpoint(low, high);
                if excludes(middle) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
        }
        low.max(self.params.floor)
    }

    /// Records the row; returns whether it may be in the pool.
    pub(super) fn admits(&mut self, bounds: Bounds, merit: Merit, high: f64, key: i64) -> bool {
        if self.surely_misses(bounds, high) || !self.still_admits(high, key) {
            return false;
        }
        let low = Standing {
            score: self.params.score(bounds.low, merit),
            key,
        };
        let surely_ranks = bounds.low >= self.params.floor && low.score >= self.least;
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
        let row = Standing { score: high, key };
        self.worst.is_none_or(|worst| row >= worst)
    }
}

/// A score and the key that breaks ties. The greater ranks first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    pub(super) score: f64,
    pub(super) key: i64,
}

impl Ord for Standing {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_score = self.score.total_cmp(&other.score);
        by_score.then(other.key.cmp(&self.key))
    }
}

impl PartialOrd for Standing {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Standing {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Standing {}
