//! The scan: the first plane of all rows, and further planes of those that it does not rule out.

use std::collections::HashMap;

use reflect_types::Metadata;

use super::block::{Block, Entry, ROWS, Row};
use super::code::Probe;
use super::cut::Cut;
use crate::rank::{self, Merit, Params, required_signature};

/// See [`Index::shortlist`](super::Index::shortlist).
pub(super) fn shortlist(
    blocks: &[Block],
    probe: &[f32],
    params: &Params,
    filter: Option<&Metadata>,
) -> Vec<i64> {
    let probe = Probe::new(probe);
    let filter = Filter::new(filter);
    let mut scan = Scan {
        probe: &probe,
        params,
        filter: &filter,
        cut: Cut::new(params),
        survivors: Vec::new(),
    };
    let mut dots = [0; ROWS];
    for block in blocks {
        if let Some(few) = filter.few(block) {
            few.for_each(|row| scan.examine(block, row, block.dot(&probe, 0, row)));
        } else {
            block.first_dots(&probe, &mut dots);
            for (row, dot) in (0..block.scales().len()).zip(dots) {
                scan.examine(block, row, dot);
            }
        }
    }
    let Scan {
        cut, mut survivors, ..
    } = scan;
    survivors.retain(|s| cut.still_admits(s.high, s.entry.key));
    let mut keys = without_surplus_twins(&survivors, params);
    keys.sort_unstable();
    keys
}

/// A row that may be in the pool.
struct Survivor<'a> {
    entry: &'a Entry,
    merit: Merit,
    /// The upper bound of its score.
    high: f64,
}

struct Scan<'a> {
    probe: &'a Probe,
    params: &'a Params,
    filter: &'a Filter<'a>,
    cut: Cut<'a>,
    survivors: Vec<Survivor<'a>>,
}

impl<'a> Scan<'a> {
    /// Examines a row by its dot product with the first plane.
    #[inline]
    fn examine(&mut self, block: &'a Block, row: usize, dot: i32) {
        let scale = block.scales()[row];
        let bounds = self.probe.bounds(f64::from(dot), scale.step, scale.error);
        let high = self.params.score(bounds.high, scale.merit);
        // Most rows end here, with only their first plane read.
        if self.cut.surely_misses(bounds, high) {
            return;
        }
        let cold = block.row(row);
        if self.cut.still_admits(high, cold.entry.key) && self.filter.passes(cold) {
            self.examine_closely(block, row, dot);
        }
    }

    fn examine_closely(&mut self, block: &'a Block, row: usize, first: i32) {
        let (scale, Row { entry, errors }) = (block.scales()[row], block.row(row));
        let (mut dot, mut share) = (f64::from(first), 1.0);
        let mut closest = None;
        for (plane, error) in (1..).zip(errors) {
            share /= 16.0;
            dot += share * f64::from(block.dot(self.probe, plane, row));
            let bounds = self.probe.bounds(dot, scale.step, *error);
            let high = self.params.score(bounds.high, scale.merit);
            if self.cut.surely_misses(bounds, high) {
                return;
            }
            closest = Some((bounds, high));
        }
        if let Some((bounds, high)) = closest
            && self.cut.admits(bounds, scale.merit, high, entry.key)
        {
            self.survivors.push(Survivor {
                entry,
                merit: scale.merit,
                high,
            });
        }
    }
}

/// The keys of the survivors. Of those with equal vectors and equal merit, only as many as the pool
/// holds, lowest keys first: their scores are equal.
///
/// This keeps the shortlist of a project with one recurring task short. Vectors are compared by a
/// keyed 64-bit hash, which confuses one pair in 2^64.
fn without_surplus_twins(survivors: &[Survivor<'_>], params: &Params) -> Vec<i64> {
    if survivors.len() <= params.pool() {
        return survivors.iter().map(|s| s.entry.key).collect();
    }
    let mut twins: HashMap<_, Vec<i64>> = HashMap::new();
    for Survivor { entry, merit, .. } in survivors {
        let same = (entry.fingerprint, params.rule.identity(*merit));
        twins.entry(same).or_default().push(entry.key);
    }
    let lowest = twins.into_values().flat_map(|mut keys| {
        keys.sort_unstable();
        keys.truncate(params.pool());
        keys
    });
    lowest.collect()
}

/// A metadata filter with its signature.
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

    /// The rows that may pass, if they are few enough to examine one by one.
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
            let tags = row.entry.tags.as_ref();
            self.may_pass(row) && rank::all_match(filter, |key| tags?.get(key))
        })
    }
}
