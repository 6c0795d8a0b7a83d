//! The scan: the coarse codes of all rows that may rank, and the fine ones of those that these do not
//! rule out. The groups that are most like the probe come first: their rows raise the cut, which rules out most
//! others.

use std::collections::HashMap;

use reflect_types::Metadata;

use super::block::{Block, Entry, ROWS};
use super::cut::Cut;
use super::group::Group;
use super::groups::Groups;
use super::probe::{Aim, Probe};
use super::shortlist::Waiting;
use super::summary::Summary;
use crate::rank::{self, Params, required_signature};

/// The part of a probe along a centre from which narrower bounds are worth computing it for this centre.
const NEAR: f64 = 0.3;

/// The rows that may be in the pool. See [`Index::shortlist`](super::Index::shortlist).
pub(super) fn scan(
    groups: &Groups,
    probe: &[f32],
    params: &Params,
    filter: Option<&Metadata>,
) -> Vec<Waiting> {
    if params.pool() == 0 {
        return Vec::new();
    }
    let probe = Probe::new(probe);
    let aim = probe.aim();
    let mut scan = Scan {
        aim: &aim,
        filter: Filter::new(filter),
        cut: Cut::new(*params),
        survivors: Vec::new(),
    };
    let mut prospects: Vec<_> = groups
        .iter()
        .map(|group| Prospect::new(group, &probe, &scan.cut))
        .collect();
    prospects.sort_unstable_by(|a, b| b.along.total_cmp(&a.along));
    for Prospect {
        group,
        along,
        highest,
    } in prospects
    {
        if scan.cut.excludes(highest) {
            continue;
        }
        scan.examine_group(group, &probe, along);
    }
    let Scan {
        cut, mut survivors, ..
    } = scan;
    survivors.retain(|s| cut.still_admits(s.waiting.high, s.waiting.key));
    without_surplus_twins(survivors, params)
}

/// A group and the highest score of its rows.
struct Prospect<'a> {
    group: &'a Group,
    /// The probe's part along the centre.
    along: f64,
    highest: f64,
}

impl<'a> Prospect<'a> {
    fn new(group: &'a Group, probe: &Probe, cut: &Cut) -> Self {
        let along = probe.along(group.centre());
        let of_block = |summary: &Summary| summary.highest(along, cut).1;
        let scores = group.summaries().iter().map(of_block);
        Self {
            group,
            along,
            highest: scores.fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// A row that may be in the pool.
pub(super) struct Survivor {
    pub(super) fingerprint: u64,
    pub(super) waiting: Waiting,
}

struct Scan<'a> {
    /// The probe for groups that are far from it or have no centre.
    aim: &'a Aim,
    filter: Filter<'a>,
    cut: Cut,
    survivors: Vec<Survivor>,
}

impl Scan<'_> {
    fn examine_group(&mut self, group: &Group, probe: &Probe, along: f64) {
        let mut near = None;
        let (mut dots, mut highs, mut scores) = ([0; ROWS], [0.0; ROWS], [0.0; ROWS]);
        let mut places = [0; ROWS];
        let rule = self.cut.params().rule;
        for (block, summary) in group.blocks().iter().zip(group.summaries()) {
            let (similarity, high) = summary.highest(along, &self.cut);
            if self.cut.surely_misses(similarity, high) {
                continue;
            }
            if !self.filter.may_pass_any(block.entries()) {
                continue;
            }
            // Many rows end here, without their codes read.
            block.highs(along, &mut highs);
            block.scores(&rule, &highs, &mut scores);
            let len = block.len();
            let rows = self
                .cut
                .admitted(&highs[..len], &scores[..len], &mut places);
            let rows = self.filter.retain(block.entries(), rows);
            if rows.is_empty() {
                continue;
            }
            let aim = if along.abs() < NEAR {
                self.aim
            } else {
                near.get_or_insert_with(|| probe.aim_at(group.centre(), along))
            };
            // And most others here, with only their coarse plane read.
            block.coarse_dots(aim, rows, &mut dots);
            block.coarse_highs(aim, &dots, &mut highs);
            block.scores(&rule, &highs, &mut scores);
            for at in rows.iter().copied() {
                if !self.cut.surely_misses(highs[at], scores[at]) {
                    self.examine_closely(block, at, aim, dots[at]);
                }
            }
        }
    }

    fn examine_closely(&mut self, block: &Block, at: usize, aim: &Aim, dot: i32) {
        let (merit, entry) = (block.merits().get(at), &block.entries()[at]);
        if !self.filter.passes(entry) {
            return;
        }
        let bounds = block.bounds(aim, at, dot);
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
}

/// Of the survivors with equal vectors and equal merit, only as many as the pool holds, lowest keys
/// first: their scores are equal.
///
/// This keeps the shortlist of a project with one recurring task short. Vectors are compared by a
/// keyed 64-bit hash, which confuses one pair in 2^64.
pub(super) fn without_surplus_twins(survivors: Vec<Survivor>, params: &Params) -> Vec<Waiting> {
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
#[derive(Clone, Copy)]
pub(super) struct Filter<'a> {
    filter: Option<&'a Metadata>,
    signature: u64,
}

impl<'a> Filter<'a> {
    pub(super) fn new(filter: Option<&'a Metadata>) -> Self {
        Self {
            filter,
            signature: filter.map_or(0, required_signature),
        }
    }

    /// Those of these rows that may pass.
    fn retain<'b>(&self, entries: &[Entry], rows: &'b mut [usize]) -> &'b [usize] {
        if self.signature == 0 {
            return rows;
        }
        let mut count = 0;
        for place in 0..rows.len() {
            let at = rows[place];
            rows[count] = at;
            count += usize::from(self.may_pass(&entries[at]));
        }
        &rows[..count]
    }

    fn may_pass_any(&self, entries: &[Entry]) -> bool {
        self.signature == 0 || entries.iter().any(|entry| self.may_pass(entry))
    }

    fn may_pass(&self, entry: &Entry) -> bool {
        entry.signature & self.signature == self.signature
    }

    pub(super) fn passes(&self, entry: &Entry) -> bool {
        self.filter.is_none_or(|filter| {
            let tags = entry.tags.as_ref();
            self.may_pass(entry) && rank::all_match(filter, |key| tags?.get(key))
        })
    }
}
