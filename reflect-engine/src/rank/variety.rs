//! Maximal marginal relevance (Carbonell & Goldstein, 1998): diversity among the chosen memories.

use super::{Params, Scored};

/// The lowest cosine.
const LEAST_LIKENESS: f64 = -1.0;

/// What became of a candidate of the pool.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// The position of the candidate in the pool.
    pub(super) place: usize,
    /// The score with the penalty for likeness to earlier choices, in the turn that chose the candidate or the last
    /// one that it lost.
    pub(super) value: f64,
}

/// Chooses from the pool, sorted by score, up to the limit: the chosen in their order, and the others.
///
/// Each turn takes the highest `mmr_lambda * score - (1 - mmr_lambda) * likeness`, where likeness is
/// the highest cosine to earlier choices, and 0 in the first turn, which the best score wins. The
/// better score, then the lower key, wins a tie.
pub(super) fn choose(pool: &[Scored<'_>], params: &Params) -> (Vec<Turn>, Vec<Turn>) {
    let unseen = pool.iter().enumerate().map(|(place, scored)| Turn {
        place,
        value: value(scored, 0.0, params),
    });
    let mut others: Vec<Turn> = unseen.collect();
    if params.is_by_score() {
        let beyond = others.split_off(params.limit.min(others.len()));
        return (others, beyond);
    }
    let mut likeness = vec![LEAST_LIKENESS; pool.len()];
    let mut chosen: Vec<Turn> = Vec::new();
    while chosen.len() < params.limit && !others.is_empty() {
        if let Some(last) = chosen.last() {
            let last = &pool[last.place].direction;
            for other in &mut others {
                let scored = &pool[other.place];
                let likeness = &mut likeness[other.place];
                *likeness = likeness.max(scored.direction.cosine_in_space(last));
                other.value = value(scored, *likeness, params);
            }
        }
        // Of equals, the last one is taken, which is the first of the pool.
        let places = (0..others.len()).rev();
        let best = if chosen.is_empty() {
            0
        } else {
            let best = places.max_by(|a, b| others[*a].value.total_cmp(&others[*b].value));
            best.unwrap_or_default()
        };
        chosen.push(others.remove(best));
    }
    (chosen, others)
}

fn value(scored: &Scored<'_>, likeness: f64, params: &Params) -> f64 {
    let weight = params.mmr_lambda.clamp(0.0, 1.0);
    weight * params.rule.shown(scored.ranked.score) - (1.0 - weight) * likeness
}
