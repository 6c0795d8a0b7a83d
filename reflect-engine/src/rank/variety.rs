//! Maximal marginal relevance: diversity among the chosen memories.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::{Params, Scored};

/// A choice from the pool.
pub(super) struct Turn {
    /// The position of the chosen candidate in the pool.
    pub(super) place: usize,
    /// The score with the penalty for likeness to earlier choices.
    pub(super) value: f64,
}

/// Chooses from the pool, sorted by score, up to the limit.
///
/// Each turn takes the highest `mmr_lambda * score - (1 - mmr_lambda) * likeness`, where likeness is
/// the highest cosine to earlier choices, and 0 in the first turn, which the best score wins. The
/// better score, then the lower key, wins a tie.
///
/// Values only fall from turn to turn, so an outdated one is an upper bound: only candidates at the
/// top of the heap are compared with new choices.
pub(super) fn choose(pool: &[Scored<'_>], params: &Params) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::with_capacity(params.limit.min(pool.len()));
    let Some(first) = pool.first().filter(|_| params.limit > 0) else {
        return turns;
    };
    turns.push(Turn {
        place: 0,
        value: value(first, 0.0, params),
    });
    if params.is_by_score() {
        let next = pool.iter().enumerate().take(params.limit).skip(1);
        turns.extend(next.map(|(place, scored)| Turn {
            place,
            value: value(scored, 0.0, params),
        }));
        return turns;
    }
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

/// The value of the candidate at `place` in the last turn it lost.
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

/// The lowest cosine.
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
    weight * params.rule.shown(scored.ranked.score) - (1.0 - weight) * likeness
}

/// A candidate with its value at the last comparison.
struct Contender {
    value: f64,
    place: usize,
    likeness: f64,
    /// The number of turns that its likeness covers.
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
