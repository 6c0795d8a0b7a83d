//! Two looks at the codes: a coarse one at all rows, a fine one at what it leaves.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

use reflect_types::Metadata;

use super::block::{Block, ROWS, Row};
use super::code::{Bounds, Probe};
use crate::rank::{self, Params, required_signature};

/// See [`Index::shortlist`](super::Index::shortlist).
pub(super) fn shortlist(
    blocks: &[Block],
    probe: &[f32],
    params: &Params,
    filter: Option<&Metadata>,
) -> Vec<i64> {
    let probe = Probe::new(probe);
    let filter = Filter::new(filter);
    let coarse = look_at_all(blocks, &probe, params, &filter);
    let fine = look_closer(blocks, &probe, params, coarse);
    let mut keys = without_surplus_twins(blocks, params, &fine);
    keys.sort_unstable();
    keys
}

/// A row that may be in the pool.
struct Survivor {
    block: usize,
    row: usize,
    /// The dot product of the probe with the upper parts of the row's code.
    dot: i32,
    /// What its score does not exceed.
    high: f64,
}

fn look_at_all(
    blocks: &[Block],
    probe: &Probe,
    params: &Params,
    filter: &Filter<'_>,
) -> Vec<Survivor> {
    let mut cut = Cut::new(params);
    let mut survivors = Vec::new();
    let mut dots = [0; ROWS];
    for (number, block) in blocks.iter().enumerate() {
        block.coarse_dots(probe, &mut dots);
        for (row, (scale, dot)) in block.scales().iter().zip(dots).enumerate() {
            let bounds = probe.coarse_bounds(dot, scale.step, scale.coarse_error);
            let high = params.score(bounds.high, scale.q);
            // In this order: the row's cold part is read only if its score may suffice.
            if cut.surely_misses(bounds, high) || !filter.passes(block.row(row)) {
                continue;
            }
            let key = block.row(row).entry.key;
            if cut.admits(bounds, scale.q, high, key) {
                survivors.push(Survivor {
                    block: number,
                    row,
                    dot,
                    high,
                });
            }
        }
    }
    survivors.retain(|s| cut.still_admits(s.high, blocks[s.block].row(s.row).entry.key));
    survivors
}

fn look_closer(
    blocks: &[Block],
    probe: &Probe,
    params: &Params,
    survivors: Vec<Survivor>,
) -> Vec<Survivor> {
    let mut cut = Cut::new(params);
    let mut closer = Vec::new();
    for survivor in survivors {
        let block = &blocks[survivor.block];
        let (scale, row) = (block.scales()[survivor.row], block.row(survivor.row));
        let dot = block.fine_dot(probe, survivor.row);
        let bounds = probe.fine_bounds(survivor.dot, dot, scale.step, row.fine_error);
        let high = params.score(bounds.high, scale.q);
        if cut.admits(bounds, scale.q, high, row.entry.key) {
            closer.push(Survivor { high, ..survivor });
        }
    }
    closer.retain(|s| cut.still_admits(s.high, blocks[s.block].row(s.row).entry.key));
    closer
}

/// The keys of the survivors, but of those with the same vector and the same part of utility only
/// as many as the pool holds: their scores are equal, so the lowest keys go first.
///
/// A project that meets one task again and again would otherwise put all of it on the shortlist.
/// Vectors count as the same by a keyed 64-bit hash, so different ones pass for the same once in
/// 2^64 pairs.
fn without_surplus_twins(blocks: &[Block], params: &Params, survivors: &[Survivor]) -> Vec<i64> {
    let entries = survivors.iter().map(|s| {
        let block = &blocks[s.block];
        let utility = params.utility(block.scales()[s.row].q);
        (&block.row(s.row).entry, utility)
    });
    if survivors.len() <= params.pool() {
        return entries.map(|(entry, _)| entry.key).collect();
    }
    let mut twins: HashMap<_, Vec<i64>> = HashMap::new();
    for (entry, utility) in entries {
        let same = (entry.fingerprint, utility.to_bits());
        twins.entry(same).or_default().push(entry.key);
    }
    let lowest = twins.into_values().flat_map(|mut keys| {
        keys.sort_unstable();
        keys.truncate(params.pool());
        keys
    });
    lowest.collect()
}

/// The score below which a row cannot be in the pool.
///
/// It is the lowest of the pool's best rows, each counted with the lowest score it may have and
/// only if it surely reaches the floor. Scores are computed from similarities by operations that
/// never turn an order around, rounding included, so bounds of a similarity become bounds of the
/// very score that the exact ranking computes.
struct Cut<'a> {
    params: &'a Params,
    pool: usize,
    best: BinaryHeap<Reverse<Standing>>,
    /// The worst of the best, once there are enough.
    worst: Option<Standing>,
}

impl<'a> Cut<'a> {
    fn new(params: &'a Params) -> Self {
        Self {
            params,
            pool: params.pool(),
            best: BinaryHeap::new(),
            worst: None,
        }
    }

    /// Whether the row is out for its bounds alone.
    #[inline]
    fn surely_misses(&self, bounds: Bounds, high: f64) -> bool {
        bounds.high < self.params.floor || self.worst.is_some_and(|worst| high < worst.score)
    }

    /// Takes the row into account; answers whether it may be in the pool.
    fn admits(&mut self, bounds: Bounds, q: f64, high: f64, key: i64) -> bool {
        if self.surely_misses(bounds, high) || !self.still_admits(high, key) {
            return false;
        }
        let low = Standing {
            score: self.params.score(bounds.low, q),
            key,
        };
        if bounds.low >= self.params.floor && self.worst.is_none_or(|worst| low > worst) {
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
    fn still_admits(&self, high: f64, key: i64) -> bool {
        let row = Standing { score: high, key };
        self.worst.is_none_or(|worst| row >= worst)
    }
}

/// A score and the key that breaks ties; the greater comes first in a ranking.
#[derive(Clone, Copy)]
struct Standing {
    score: f64,
    key: i64,
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

/// A metadata filter, ready for many rows.
struct Filter<'a> {
    filter: Option<&'a Metadata>,
    signature: u64,
}

impl<'a> Filter<'a> {
    fn new(filter: Option<&'a Metadata>) -> Self {
        Self {
            filter,
            signature: filter.map_or(0, required_signature),
        }
    }

    fn passes(&self, row: &Row) -> bool {
        self.filter.is_none_or(|filter| {
            row.entry.signature & self.signature == self.signature
                && rank::matches(filter, row.entry.metadata.as_deref())
        })
    }
}
