//! Looks at the codes, plane by plane: at the first of all rows, at the next of what that leaves.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

use reflect_types::Metadata;

use super::block::{Block, ROWS, Row};
use super::code::{Bounds, PLANES, Probe};
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
    let mut survivors = look_at_all(blocks, &probe, params, &filter);
    for plane in 1..PLANES {
        survivors = look_closer(blocks, &probe, params, survivors, plane);
    }
    let mut keys = without_surplus_twins(blocks, params, &survivors);
    keys.sort_unstable();
    keys
}

/// A row that may be in the pool.
struct Survivor {
    block: usize,
    row: usize,
    /// Its dot product with the probe by the planes looked at.
    dot: f64,
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
    let mut look = |number: usize, block: &Block, row: usize, dot: i32| {
        let (dot, scale) = (f64::from(dot), block.scales()[row]);
        let bounds = probe.bounds(dot, scale.step, scale.error);
        let high = params.score(bounds.high, scale.q);
        // In this order: the row's cold part is read only if its score may suffice.
        if cut.surely_misses(bounds, high) || !filter.passes(block.row(row)) {
            return;
        }
        if cut.admits(bounds, scale.q, high, block.row(row).entry.key) {
            survivors.push(Survivor {
                block: number,
                row,
                dot,
                high,
            });
        }
    };
    let mut dots = [0; ROWS];
    for (number, block) in blocks.iter().enumerate() {
        let rows = block.scales().len();
        if let Some(few) = filter.few(block) {
            few.for_each(|row| look(number, block, row, block.dot(probe, 0, row)));
        } else {
            block.first_dots(probe, &mut dots);
            (0..rows).for_each(|row| look(number, block, row, dots[row]));
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
    plane: usize,
) -> Vec<Survivor> {
    let share = [1.0, 1.0 / 16.0, 1.0 / 256.0][plane];
    let mut cut = Cut::new(params);
    let mut closer = Vec::new();
    for survivor in survivors {
        let block = &blocks[survivor.block];
        let (scale, row) = (block.scales()[survivor.row], block.row(survivor.row));
        let dot = survivor.dot + share * f64::from(block.dot(probe, plane, survivor.row));
        let bounds = probe.bounds(dot, scale.step, row.errors[plane - 1]);
        let high = params.score(bounds.high, scale.q);
        if cut.admits(bounds, scale.q, high, row.entry.key) {
            closer.push(Survivor {
                dot,
                high,
                ..survivor
            });
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

    /// The rows that may pass, if they are so few that each is better looked at alone.
    fn few<'b>(&'b self, block: &'b Block) -> Option<impl Iterator<Item = usize> + 'b> {
        if self.signature == 0 {
            return None;
        }
        let rows = 0..block.scales().len();
        let few = rows.filter(|row| self.may_pass(block.row(*row)));
        (few.clone().count() <= ROWS / 8).then_some(few)
    }

    fn may_pass(&self, row: &Row) -> bool {
        row.entry.signature & self.signature == self.signature
    }

    fn passes(&self, row: &Row) -> bool {
        self.filter.is_none_or(|filter| {
            self.may_pass(row) && rank::matches(filter, row.entry.metadata.as_deref())
        })
    }
}
