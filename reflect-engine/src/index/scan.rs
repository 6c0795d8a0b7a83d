//! A pass over all rows for several queries: the coarse codes of all, and the fine ones of those that these do not
//! rule out for a query. A block stays in the cache until every query has met it, so that a pass costs little more
//! memory traffic for many queries than for one.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::Metadata;

use super::block::{Block, Entry, ROWS};
use super::cut::Cut;
use super::probe::Probe;
use super::shortlist::{Shortlist, Waiting};
use crate::rank::{self, Params, required_signature};

/// What a query asks of a pass.
#[derive(Clone, Copy, Debug)]
pub struct Sought<'a> {
    /// The vector of its task.
    pub probe: &'a [f32],
    /// The parameters of the ranking.
    pub params: Params,
    /// Memories that do not match are left out.
    pub filter: Option<&'a Metadata>,
}

/// The rows that may be in each query's pool. See [`Index::shortlists`](super::Index::shortlists).
pub(super) fn scan(blocks: &[Arc<Block>], queries: &[Sought<'_>]) -> Vec<Shortlist> {
    let probes: Vec<_> = queries
        .iter()
        .map(|query| Probe::new(query.probe))
        .collect();
    let chunks: Vec<_> = probes.iter().map(Probe::chunks).collect();
    let mut scans: Vec<_> = queries.iter().map(Scan::new).collect();
    let mut dots = vec![[0; ROWS]; queries.len()];
    let mut room = Room::default();
    for block in blocks {
        block.coarse_dots(&chunks, &mut dots);
        for ((scan, probe), dots) in scans.iter_mut().zip(&probes).zip(&dots) {
            scan.examine(block, probe, dots, &mut room);
        }
    }
    let shortlists = scans.into_iter().zip(queries);
    shortlists
        .map(|(scan, query)| Shortlist::new(query.probe, &query.params, scan.finish()))
        .collect()
}

/// What is computed of a block for a query.
struct Room {
    highs: [f32; ROWS],
    scores: [f32; ROWS],
    places: Vec<usize>,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            highs: [0.0; ROWS],
            scores: [0.0; ROWS],
            places: Vec::with_capacity(ROWS),
        }
    }
}

/// A row that may be in the pool.
struct Survivor {
    fingerprint: u64,
    waiting: Waiting,
}

/// What a query has found so far.
struct Scan<'a> {
    filter: Filter<'a>,
    cut: Cut,
    survivors: Vec<Survivor>,
}

impl<'a> Scan<'a> {
    fn new(query: &Sought<'a>) -> Self {
        Self {
            filter: Filter::new(query.filter),
            cut: Cut::new(query.params),
            survivors: Vec::new(),
        }
    }

    fn examine(&mut self, block: &Block, probe: &Probe, dots: &[i32; ROWS], room: &mut Room) {
        if self.cut.params().pool() == 0 {
            return;
        }
        let Room {
            highs,
            scores,
            places,
        } = room;
        let (rule, len) = (self.cut.params().rule, block.len());
        block.coarse_highs(probe, dots, highs);
        block.scores(&rule, highs, scores);
        self.cut.admitted(&highs[..len], &scores[..len], places);
        for at in places.iter().copied() {
            // Those before may have raised the cut.
            if !self.cut.excludes(f64::from(scores[at])) {
                self.examine_closely(block, at, probe);
            }
        }
    }

    fn examine_closely(&mut self, block: &Block, at: usize, probe: &Probe) {
        let entry = &block.entries()[at];
        if !self.filter.passes(entry) {
            return;
        }
        let (merit, bounds) = (block.merit(at), block.bounds(probe, at));
        let high = self.cut.params().score(bounds.high, merit);
        if self.cut.admits(bounds, merit, high, entry.key) {
            self.survivors.push(Survivor {
                fingerprint: entry.fingerprint,
                waiting: Waiting {
                    key: entry.key,
                    merit,
                    high,
                },
            });
        }
    }

    fn finish(self) -> Vec<Waiting> {
        let Self {
            cut, mut survivors, ..
        } = self;
        survivors.retain(|s| cut.still_admits(s.waiting.high, s.waiting.key));
        without_surplus_twins(survivors, cut.params())
    }
}

/// Of the survivors with equal vectors and equal merit, only as many as the pool holds, lowest keys
/// first: their scores are equal.
///
/// This keeps the shortlist of a project with one recurring task short. Vectors are compared by a
/// keyed 64-bit hash, which confuses one pair in 2^64.
fn without_surplus_twins(survivors: Vec<Survivor>, params: &Params) -> Vec<Waiting> {
    let all = survivors.len() <= params.pool();
    let waiting = survivors.into_iter();
    if all {
        return waiting.map(|s| s.waiting).collect();
    }
    let mut twins: HashMap<_, Vec<Waiting>> = HashMap::new();
    for Survivor {
        fingerprint,
        waiting,
    } in waiting
    {
        let same = (fingerprint, params.rule.identity(waiting.merit));
        twins.entry(same).or_default().push(waiting);
    }
    let lowest = twins.into_values().flat_map(|mut twins| {
        twins.sort_unstable_by_key(|twin| twin.key);
        twins.truncate(params.pool());
        twins
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

    fn passes(&self, entry: &Entry) -> bool {
        self.filter.is_none_or(|filter| {
            let tags = entry.tags.as_ref();
            entry.signature & self.signature == self.signature
                && rank::all_match(filter, |key| tags?.get(key))
        })
    }
}
