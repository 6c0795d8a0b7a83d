//! Ranks memories for a task: pure arithmetic over exact vectors.
//!
//! A candidate passes the metadata filter and the floor, is scored by
//! `(1 - lambda) * similarity + lambda * q`, and the best [`Params::pool`] of them are reranked for
//! variety (maximal marginal relevance) down to the limit. Equal scores are ordered by key, so that
//! the result depends on the candidates alone and not on their order.

mod explain;
mod filter;
mod variety;
pub(crate) mod vector;

use std::cmp::Ordering;

use reflect_types::{Metadata, QueryMemories};

pub use explain::{Dropped, Explained, explain};
pub use filter::matches;
pub(crate) use filter::{all_match, required_signature, signature};
use vector::Direction;

/// How to rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// How much utility counts against similarity, from 0 (similarity alone) to 1 (utility alone).
    pub lambda: f64,
    /// How much the score counts against variety, from 0 (variety alone) to 1 (score alone).
    pub mmr_lambda: f64,
    /// The lowest cosine similarity that counts.
    pub floor: f64,
    /// How many memories at the most.
    pub limit: usize,
}

impl Params {
    /// What the query asks for; `default_floor` stands in where it names no threshold.
    pub fn new(query: &QueryMemories, default_floor: f64) -> Self {
        Self {
            lambda: query.lambda,
            mmr_lambda: query.mmr_lambda,
            floor: query.similarity_threshold.unwrap_or(default_floor),
            limit: usize::try_from(query.limit).unwrap_or(usize::MAX),
        }
    }

    /// How many of the best by score are looked at for variety: five times the limit, at least 50.
    ///
    /// A smaller pool would leave variety nothing to choose from, a larger one would let it reach
    /// for memories that hardly fit the task.
    pub fn pool(&self) -> usize {
        self.limit.saturating_mul(5).max(50)
    }

    /// Similarity and utility blended; it never falls when either of them rises.
    pub(crate) fn score(&self, similarity: f64, q: f64) -> f64 {
        // Adding zero makes one zero of two, which are in order but not equal.
        (1.0 - self.weight()) * similarity + self.utility(q) + 0.0
    }

    /// The part of the score that utility brings.
    pub(crate) fn utility(&self, q: f64) -> f64 {
        self.weight() * q
    }

    // Outside of its range a weight would turn the order of similarities around.
    fn weight(&self) -> f64 {
        self.lambda.clamp(0.0, 1.0)
    }
}

/// A memory that may be ranked.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The memory's number in its store, which breaks ties: the lower comes first.
    pub key: i64,
    /// Its embedding; it need not be of length 1.
    pub vector: &'a [f32],
    /// Its utility.
    pub q: f64,
    /// Its metadata, which only [`explain()`] reads: [`rank`] is given what passed the filter.
    pub metadata: Option<&'a Metadata>,
}

/// A memory in its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The candidate's key.
    pub key: i64,
    /// The cosine similarity with the probe; 0 where either vector is zero.
    pub similarity: f64,
    /// The utility, as given.
    pub q: f64,
    /// The blend of both, before variety is looked for.
    pub score: f64,
}

/// The best candidates for the probe, best first.
///
/// Candidates whose vector cannot be compared with the probe (another length, or a component that
/// is not finite) are left out. The arithmetic is in `f64` and in a fixed order, so that every machine
/// answers the same; [`explain()`] tells the numbers behind a ranking.
pub fn rank(probe: &[f32], candidates: &[Candidate<'_>], params: &Params) -> Vec<Ranked> {
    let Some(probe) = Direction::of(probe) else {
        return Vec::new();
    };
    let scored = candidates
        .iter()
        .filter_map(|c| Scored::of(&probe, c, params));
    let mut pool: Vec<_> = scored
        .filter(|s| s.ranked.similarity >= params.floor)
        .collect();
    keep_best(&mut pool, params.pool());
    let turns = variety::choose(&pool, params);
    turns.iter().map(|turn| pool[turn.place].ranked).collect()
}

/// A candidate with its numbers.
struct Scored<'a> {
    direction: Direction<'a>,
    ranked: Ranked,
}

impl<'a> Scored<'a> {
    fn of(probe: &Direction<'_>, candidate: &Candidate<'a>, params: &Params) -> Option<Self> {
        let direction = Direction::of(candidate.vector)?;
        let similarity = probe.cosine(&direction)?;
        let ranked = Ranked {
            key: candidate.key,
            similarity,
            q: candidate.q,
            score: params.score(similarity, candidate.q),
        };
        Some(Self { direction, ranked })
    }
}

/// The higher score first; of equal ones the lower key.
fn by_score(a: &Ranked, b: &Ranked) -> Ordering {
    b.score.total_cmp(&a.score).then(a.key.cmp(&b.key))
}

/// Leaves the best `count`, in order; answers what fell out.
fn keep_best<'a>(scored: &mut Vec<Scored<'a>>, count: usize) -> Vec<Scored<'a>> {
    let order = |a: &Scored<'_>, b: &Scored<'_>| by_score(&a.ranked, &b.ranked);
    let mut rest = Vec::new();
    if count < scored.len() {
        scored.select_nth_unstable_by(count, order);
        rest = scored.split_off(count);
    }
    scored.sort_unstable_by(order);
    rest
}

#[cfg(test)]
mod tests;
