//! Ranking of memories for a task: pure arithmetic over exact vectors.
//!
//! Candidates that pass the metadata filter and the floor are scored by a [`Rule`]; the best
//! [`Params::pool`] are reranked for diversity (maximal marginal relevance) down to the limit. Equal
//! scores are ordered by key, so that the order of the candidates does not matter.

mod explain;
mod filter;
mod floor;
mod merit;
mod merits;
mod rule;
mod variety;
pub(crate) mod vector;

use std::cmp::Ordering;

use reflect_types::{Metadata, QueryMemories};

pub(crate) use explain::appraise;
pub use explain::{Explained, explain};
pub use filter::matches;
pub(crate) use filter::{all_match, required_signature, signature};
pub use floor::Floor;
pub use merit::Merit;
pub(crate) use merits::Merits;
pub(crate) use rule::ROUNDING;
pub use rule::{Learned, Rule};
use vector::Direction;

use crate::learn::LEVEL;

/// The parameters of a ranking.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// How similarity and merit become a score.
    pub rule: Rule,
    /// The weight of the score against diversity, from 0 (diversity alone) to 1 (score alone).
    pub mmr_lambda: f64,
    /// The lowest similarity of a ranked memory.
    pub floor: Floor,
    /// The largest number of memories in the answer.
    pub limit: usize,
}

impl Params {
    /// The parameters of a query; `default_floor` applies if it sets no threshold.
    pub fn new(query: &QueryMemories, rule: Rule, default_floor: Floor) -> Self {
        Self {
            rule,
            mmr_lambda: rule.mmr_lambda(query),
            floor: query.similarity_threshold.map_or(default_floor, Floor::Set),
            limit: usize::try_from(query.limit).unwrap_or(usize::MAX),
        }
    }

    /// The number of best-scored candidates that are reranked: five times the limit, at least 50; only
    /// the limit where the score alone decides.
    ///
    /// A smaller pool leaves little to choose from, a larger one lets in memories that hardly fit
    /// the task.
    pub fn pool(&self) -> usize {
        if self.is_by_score() {
            self.limit
        } else {
            self.limit.saturating_mul(5).max(50)
        }
    }

    /// Whether the score alone decides.
    fn is_by_score(&self) -> bool {
        self.mmr_lambda >= 1.0
    }

    /// The score, which never falls with the similarity.
    pub(crate) fn score(&self, similarity: f64, merit: Merit) -> f64 {
        self.rule.score(similarity, merit)
    }

    /// The score from which a memory may be below the floor.
    pub(crate) fn waiver(&self) -> f64 {
        match self.floor {
            // Below, the score of a memory that only helps with tasks like its own is at its lowest.
            Floor::Noise(similarity) if similarity <= LEVEL => self.rule.waiver(),
            Floor::Noise(_) | Floor::Set(_) => f64::INFINITY,
        }
    }

    /// Whether the floor lets a memory in. What is let in stays so with a higher similarity or score.
    #[inline]
    pub(crate) fn is_near(&self, similarity: f64, score: f64) -> bool {
        similarity >= self.floor.similarity() || score >= self.waiver()
    }
}

/// A memory to rank.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The memory's key in its store. The lower key wins a tie.
    pub key: i64,
    /// The memory's vector, of any length.
    pub vector: &'a [f32],
    /// What reviews say about the memory.
    pub merit: Merit,
    /// The memory's metadata, which only [`explain()`] reads: [`rank`] expects filtered candidates.
    pub metadata: Option<&'a Metadata>,
}

/// A ranked memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The candidate's key.
    pub key: i64,
    /// The cosine similarity with the probe; 0 if either vector is zero.
    pub similarity: f64,
    /// The memory's utility.
    pub q: f64,
    /// The score by the rule, without the diversity penalty.
    pub score: f64,
}

/// The best candidates for the probe, best first.
///
/// Candidates whose vector cannot be compared with the probe (another length, or a component that
/// is not finite) are left out. The arithmetic is in `f64` and in a fixed order, so that the result is
/// the same on every machine. [`explain()`] gives the numbers behind a ranking.
pub fn rank(probe: &[f32], candidates: &[Candidate<'_>], params: &Params) -> Vec<Ranked> {
    let Some(probe) = Direction::of(probe) else {
        return Vec::new();
    };
    let scored = candidates
        .iter()
        .filter_map(|c| Scored::of(&probe, c, params));
    let mut pool: Vec<_> = scored
        .filter(|s| {
            let Ranked {
                similarity, score, ..
            } = s.ranked;
            params.is_near(similarity, score) && score >= params.rule.least()
        })
        .collect();
    keep_best(&mut pool, params.pool());
    let (chosen, _) = variety::choose(&pool, params);
    chosen.iter().map(|turn| pool[turn.place].ranked).collect()
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
            q: candidate.merit.q,
            score: params.score(similarity, candidate.merit),
        };
        Some(Self { direction, ranked })
    }
}

/// By descending score, then by key.
fn by_score(a: &Ranked, b: &Ranked) -> Ordering {
    b.score.total_cmp(&a.score).then(a.key.cmp(&b.key))
}

/// Keeps the best `count`, in order; returns the rest.
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
