//! The numbers behind a ranking.

use reflect_types::{Dropped, Metadata};

use super::vector::Direction;
use super::{Candidate, Params, Ranked, Scored, by_score, filter, keep_best, variety};

/// A candidate with its numbers and its place in the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The candidate with its numbers; its similarity is 0 if it cannot be compared.
    pub ranked: Ranked,
    /// The score with the diversity penalty, in the turn that chose the candidate or the last turn
    /// it lost. `None` if the candidate did not reach the pool.
    pub mmr: Option<f64>,
    /// The place in the answer, from 1.
    pub rank: Option<usize>,
    /// Why the candidate is not in the answer.
    pub dropped: Option<Dropped>,
}

/// Ranks all candidates and keeps their numbers: the answer in its order, then the others by score.
///
/// The answer is that of [`rank`](super::rank) over the candidates that pass the filter.
pub fn explain(
    probe: &[f32],
    candidates: &[Candidate<'_>],
    params: &Params,
    filter: Option<&Metadata>,
) -> Vec<Explained> {
    let probe = Direction::of(probe);
    let mut pool = Vec::new();
    let mut others = Vec::new();
    for candidate in candidates {
        let scored = probe.and_then(|probe| Scored::of(&probe, candidate, params));
        let filtered = filter.is_some_and(|f| !filter::matches(f, candidate.metadata));
        match scored {
            Some(scored) if filtered => others.push(dropped(scored.ranked, Dropped::Metadata)),
            Some(scored) if !params.is_near(scored.ranked.similarity, scored.ranked.score) => {
                others.push(dropped(scored.ranked, Dropped::Floor));
            }
            Some(scored) if scored.ranked.score < params.rule.least() => {
                others.push(dropped(scored.ranked, Dropped::Harm));
            }
            Some(scored) => pool.push(scored),
            None => {
                let ranked = incomparable(candidate, params);
                others.push(dropped(ranked, Dropped::Incomparable));
            }
        }
    }
    let beyond = keep_best(&mut pool, params.pool());
    let reason = if params.is_by_score() {
        Dropped::Limit
    } else {
        Dropped::Pool
    };
    others.extend(beyond.iter().map(|s| dropped(s.ranked, reason.clone())));

    let (chosen, lost) = variety::choose(&pool, params);
    let mut explained = Vec::with_capacity(candidates.len());
    for (turn, rank) in chosen.iter().zip(1..) {
        explained.push(Explained {
            ranked: pool[turn.place].ranked,
            mmr: Some(turn.value),
            rank: Some(rank),
            dropped: None,
        });
    }
    for turn in lost {
        // By score alone, the first of the pool would have been the answer.
        let reason = if turn.place < chosen.len() {
            Dropped::Variety
        } else {
            Dropped::Limit
        };
        others.push(Explained {
            mmr: Some(turn.value),
            ..dropped(pool[turn.place].ranked, reason)
        });
    }
    others.sort_unstable_by(|a, b| by_score(&a.ranked, &b.ranked));
    explained.extend(others);
    explained
}

fn dropped(ranked: Ranked, reason: Dropped) -> Explained {
    Explained {
        ranked,
        mmr: None,
        rank: None,
        dropped: Some(reason),
    }
}

/// The numbers of one candidate. Its similarity is 0 if it cannot be compared.
pub(crate) fn appraise(probe: &[f32], candidate: &Candidate<'_>, params: &Params) -> Ranked {
    let scored = Direction::of(probe).and_then(|probe| Scored::of(&probe, candidate, params));
    scored.map_or_else(|| incomparable(candidate, params), |scored| scored.ranked)
}

fn incomparable(candidate: &Candidate<'_>, params: &Params) -> Ranked {
    Ranked {
        key: candidate.key,
        similarity: 0.0,
        q: candidate.merit.q,
        score: params.score(0.0, candidate.merit),
    }
}
