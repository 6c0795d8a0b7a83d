//! Maximal marginal relevance: the next best memory that does not repeat the chosen ones.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{Params, Scored};

/// A choice from the pool.
pub(super) struct Turn {
    /// The place of the chosen one in the pool.
    pub(super) place: usize,
    /// What it was chosen for: the score less the likeness to those chosen before.
    pub(super) value: f64,
}

/// Chooses from the pool, which is in the order of scores, until the limit is reached.
///
/// Each turn takes the highest `mmr_lambda * score - (1 - mmr_lambda) * likeness`, where likeness is
/// the highest cosine to those chosen before, and 0 at the first turn, which the best score wins.
/// Of equal values the one with the better score, then the lower key, is taken.
///
/// A value can only fall from turn to turn, so one that is out of date is an upper bound: only
/// candidates that reach the top of the heap are compared with the newly chosen.
pub(super) fn choose(pool: &[Scored<'_>], params: &Params) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::with_capacity(params.limit.min(pool.len()));
    let Some(first) = pool.first().filter(|_| params.limit > 0) else {
        return turns;
    };
    turns.push(Turn {
        place: 0,
        value: value(first, 0.0, params),
    });
    let unseen = |(place, scored)| Contender {
        value: value(scored, LEAST_LIKENESS, params),
        place,
        likeness: LEAST_LIKENESS,
        compared: 0,
    };
    let mut heap: BinaryHeap<_> = pool.iter().enumerate().skip(1).map(unseen).collect();
    while turns.len() < params.limit
        && let Some(mut top) = heap.pop()
    {
        if top.compared == turns.len() {
            let Contender { place, value, .. } = top;
            turns.push(Turn { place, value });
            continue;
        }
        let scored = &pool[top.place];
        let news = &turns[top.compared..];
        top.likeness = top.likeness.max(likeness(scored, pool, news));
        top.value = value(scored, top.likeness, params);
        top.compared = turns.len();
        heap.push(top);
    }
    turns
}

/// What the candidate at `place` was worth when it last lost a turn.
pub(super) fn last_value(
    place: usize,
    pool: &[Scored<'_>],
    turns: &[Turn],
    params: &Params,
) -> f64 {
    let scored = &pool[place];
    let before = &turns[..turns.len().saturating_sub(1)];
    let likeness = if before.is_empty() {
        0.0
    } else {
        likeness(scored, pool, before)
    };
    value(scored, likeness, params)
}

/// No cosine is lower.
const LEAST_LIKENESS: f64 = -1.0;

fn likeness(scored: &Scored<'_>, pool: &[Scored<'_>], chosen: &[Turn]) -> f64 {
    let cosines = chosen.iter().map(|turn| {
        scored
            .direction
            .cosine_in_space(&pool[turn.place].direction)
    });
    cosines.fold(LEAST_LIKENESS, f64::max)
}

fn value(scored: &Scored<'_>, likeness: f64, params: &Params) -> f64 {
    let weight = params.mmr_lambda.clamp(0.0, 1.0);
    weight * scored.ranked.score - (1.0 - weight) * likeness
}

/// A candidate with its value when it was last compared.
struct Contender {
    value: f64,
    place: usize,
    likeness: f64,
    /// How many of the turns its likeness takes into account.
    compared: usize,
}

impl Ord for Contender {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_value = self.value.total_cmp(&other.value);
        by_value.then(other.place.cmp(&self.place))
    }
}

impl PartialOrd for Contender {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Contender {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Contender {}
