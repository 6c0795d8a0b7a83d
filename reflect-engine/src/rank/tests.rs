use fearless_simd::{Level, dispatch};
use proptest::prelude::*;
use reflect_types::{Dropped, QueryMemories};
use serde_json::json;

use super::*;
use crate::learn::Effect;

const CLASSIC: Rule = Rule::Classic { lambda: 0.5 };

const PARAMS: Params = Params {
    rule: CLASSIC,
    mmr_lambda: 1.0,
    floor: Floor::Set(-1.0),
    limit: 10,
};

fn candidate(key: i64, vector: &[f32], q: f64) -> Candidate<'_> {
    Candidate {
        key,
        vector,
        merit: Merit::untested(q),
        metadata: None,
    }
}

fn keys(ranked: &[Ranked]) -> Vec<i64> {
    ranked.iter().map(|r| r.key).collect()
}

#[test]
fn a_query_sets_the_params_and_the_embedder_the_floor() {
    let mut query = QueryMemories::new("t");
    let params = Params::new(&query, CLASSIC, Floor::Noise(0.2));
    assert_eq!(
        params,
        Params {
            rule: CLASSIC,
            mmr_lambda: 0.7,
            floor: Floor::Noise(0.2),
            limit: 10
        }
    );
    query.similarity_threshold = Some(0.4);
    let params = Params::new(&query, CLASSIC, Floor::Noise(0.2));
    assert_eq!(params.floor, Floor::Set(0.4));
}

#[test]
fn the_pool_grows_with_the_limit() {
    let pool = |limit| {
        let params = Params {
            limit,
            mmr_lambda: 0.9,
            ..PARAMS
        };
        params.pool()
    };
    assert_eq!((pool(1), pool(10), pool(100)), (50, 50, 500));
}

#[test]
fn where_the_score_alone_decides_the_pool_is_the_answer() {
    let params = Params {
        limit: 10,
        mmr_lambda: 1.0,
        ..PARAMS
    };
    assert_eq!(params.pool(), 10);
}

#[test]
fn similarity_and_utility_are_blended() {
    let near = candidate(1, &[1.0, 0.0], 0.0);
    let useful = candidate(2, &[0.0, 1.0], 0.9);
    let at = |lambda| {
        let rule = Rule::Classic { lambda };
        let params = Params { rule, ..PARAMS };
        rank(&[2.0, 0.0], &[near, useful], &params)
    };
    assert_eq!(keys(&at(0.0)), [1, 2]);
    assert_eq!(keys(&at(1.0)), [2, 1]);
    let half = at(0.5);
    assert_eq!(keys(&half), [1, 2]);
    assert!((half[0].score - 0.5).abs() < 1e-12);
    assert!((half[1].score - 0.45).abs() < 1e-12);
}

#[test]
fn what_is_below_the_floor_is_out_however_useful() {
    let candidates = [
        candidate(1, &[1.0, 0.0], 0.0),
        candidate(2, &[0.0, 1.0], 1.0),
        candidate(3, &[0.0, 0.0], 1.0),
    ];
    let params = Params {
        floor: Floor::Set(0.2),
        ..PARAMS
    };
    assert_eq!(keys(&rank(&[1.0, 0.0], &candidates, &params)), [1]);
    // The floor itself is in.
    let params = Params {
        floor: Floor::Set(0.0),
        ..PARAMS
    };
    assert_eq!(rank(&[1.0, 0.0], &candidates, &params).len(), 3);
}

#[test]
fn what_helps_at_any_task_may_be_below_the_noise() {
    let of = |key, vector, lift| Candidate {
        merit: Merit {
            q: 0.5,
            effect: Effect::new(lift, [0.0; 3]),
        },
        ..candidate(key, vector, 0.5)
    };
    let candidates = [
        of(1, &[1.0, 0.0], 0.05),
        of(2, &[0.0, 1.0], 0.3),
        of(3, &[0.0, 1.0], 0.1),
    ];
    let at = |floor| {
        let params = Params {
            rule: Rule::Learned(Learned { least: -0.1 }),
            floor,
            ..PARAMS
        };
        let explained = explain(&[1.0, 0.0], &candidates, &params, None);
        let below = explained
            .iter()
            .filter(|e| e.dropped == Some(Dropped::Floor));
        let below: Vec<_> = below.map(|e| e.ranked.key).collect();
        (keys(&rank(&[1.0, 0.0], &candidates, &params)), below)
    };
    assert_eq!(at(Floor::Noise(0.2)), (vec![2, 1], vec![3]));
    assert_eq!(at(Floor::Set(0.2)), (vec![1], vec![2, 3]));
    assert_eq!(at(Floor::Noise(0.7)), (vec![1], vec![2, 3]));
    assert_eq!(at(Floor::Set(0.0)), (vec![2, 1, 3], vec![]));
}

#[test]
fn equal_scores_are_ordered_by_key() {
    let v = [1.0, 0.0];
    let candidates = [7, 3, 5].map(|key| candidate(key, &v, 0.5));
    assert_eq!(keys(&rank(&v, &candidates, &PARAMS)), [3, 5, 7]);
}

#[test]
fn variety_prefers_what_does_not_repeat_the_chosen() {
    let candidates = [
        candidate(1, &[1.0, 0.0, 0.0], 0.5),
        candidate(2, &[1.0, 0.01, 0.0], 0.5),
        candidate(3, &[0.8, 0.0, 0.6], 0.5),
    ];
    let at = |mmr_lambda| {
        let params = Params {
            mmr_lambda,
            limit: 2,
            ..PARAMS
        };
        keys(&rank(&[1.0, 0.0, 0.0], &candidates, &params))
    };
    assert_eq!(at(1.0), [1, 2]);
    assert_eq!(at(0.5), [1, 3]);
    assert_eq!(at(0.0), [1, 3]);
}

#[test]
fn what_cannot_be_compared_is_left_out() {
    let candidates = [
        candidate(1, &[1.0, f32::NAN], 1.0),
        candidate(2, &[1.0], 1.0),
        candidate(3, &[1.0, 1.0], 0.0),
    ];
    assert_eq!(keys(&rank(&[1.0, 0.0], &candidates, &PARAMS)), [3]);
    assert!(rank(&[f32::NAN, 0.0], &candidates, &PARAMS).is_empty());
}

#[test]
fn an_explanation_says_why_each_was_dropped() {
    let other = serde_json::from_value(json!({"team": "other"})).unwrap();
    let ours: Metadata = serde_json::from_value(json!({"team": "ours"})).unwrap();
    let with = |key, vector, q, metadata| Candidate {
        metadata: Some(metadata),
        ..candidate(key, vector, q)
    };
    let mut candidates = vec![
        with(1, &[1.0, 0.0], 0.9, &ours),
        with(2, &[1.0, 0.001], 0.9, &ours),
        with(3, &[0.8, 0.6], 0.8, &ours),
        with(4, &[0.7, 0.7], 0.5, &ours),
        with(5, &[0.0, 1.0], 0.5, &ours),
        with(6, &[1.0, 0.0], 1.0, &other),
        with(7, &[1.0], 0.5, &ours),
    ];
    candidates.extend((100..150).map(|key| with(key, &[0.6, 0.8], 0.0, &ours)));
    let params = Params {
        mmr_lambda: 0.5,
        floor: Floor::Set(0.2),
        limit: 2,
        ..PARAMS
    };
    let explained = explain(&[1.0, 0.0], &candidates, &params, Some(&ours));
    assert_eq!(explained.len(), candidates.len());
    let of = |key| explained.iter().find(|e| e.ranked.key == key).unwrap();
    assert_eq!((of(1).rank, of(1).dropped.clone()), (Some(1), None));
    assert_eq!((of(3).rank, of(3).dropped.clone()), (Some(2), None));
    assert_eq!(of(2).dropped, Some(Dropped::Variety));
    assert!(of(2).mmr < of(3).mmr);
    assert_eq!(of(4).dropped, Some(Dropped::Limit));
    assert_eq!(of(5).dropped, Some(Dropped::Floor));
    assert_eq!(of(6).dropped, Some(Dropped::Metadata));
    assert_eq!(of(7).dropped, Some(Dropped::Incomparable));
    assert_eq!(of(145).dropped, Some(Dropped::Limit));
    assert_eq!(of(149).dropped, Some(Dropped::Pool));
    assert_eq!(
        (of(149).ranked.q, of(149).mmr, of(149).rank),
        (0.0, None, None)
    );
}

/// Greedy choice as it is defined, with nothing saved.
fn plain_rank(probe: &[f32], candidates: &[Candidate<'_>], params: &Params) -> Vec<Ranked> {
    let probe = Direction::of(probe).unwrap();
    let mut pool: Vec<_> = candidates
        .iter()
        .filter_map(|c| Scored::of(&probe, c, params))
        .filter(|s| s.ranked.similarity >= params.floor.similarity())
        .collect();
    pool.sort_by(|a, b| by_score(&a.ranked, &b.ranked));
    pool.truncate(params.pool());
    let mut chosen: Vec<Scored<'_>> = Vec::new();
    while chosen.len() < params.limit && !pool.is_empty() {
        let worth = |s: &Scored<'_>| {
            let cosines = chosen
                .iter()
                .map(|c| s.direction.cosine_in_space(&c.direction));
            let likeness = cosines.reduce(f64::max).unwrap_or(0.0);
            let score = if chosen.is_empty() {
                0.0
            } else {
                s.ranked.score
            };
            params.mmr_lambda * score - (1.0 - params.mmr_lambda) * likeness
        };
        let mut best = 0;
        for place in 1..pool.len() {
            if worth(&pool[place]) > worth(&pool[best]) {
                best = place;
            }
        }
        chosen.push(pool.remove(best));
    }
    chosen.iter().map(|s| s.ranked).collect()
}

/// Few distinct values, so that ties abound.
fn memories() -> impl Strategy<Value = Vec<(Vec<f32>, f64)>> {
    let component = prop_oneof![Just(0.0_f32), Just(1.0), -1.0_f32..1.0];
    let vector = prop::collection::vec(component, 3);
    let q = prop_oneof![Just(0.5), 0.0..1.0];
    prop::collection::vec((vector, q), 0..90)
}

proptest! {
    #[test]
    fn the_answer_is_the_plain_greedy_one_whatever_the_order(
        memories in memories(),
        probe in prop::collection::vec(-1.0_f32..1.0, 3),
        lambda in prop_oneof![Just(0.0), Just(1.0), 0.0..1.0],
        mmr_lambda in prop_oneof![Just(0.0), Just(1.0), 0.0..1.0],
        floor in -1.0..0.6,
        limit in 0_usize..20,
        turn in any::<prop::sample::Index>(),
    ) {
        let rule = Rule::Classic { lambda };
        let params = Params { rule, mmr_lambda, floor: Floor::Set(floor), limit };
        let mut candidates: Vec<_> =
            (0..).zip(&memories).map(|(key, (vector, q))| candidate(key, vector, *q)).collect();
        let ranked = rank(&probe, &candidates, &params);
        prop_assert_eq!(&ranked, &plain_rank(&probe, &candidates, &params));

        let explained = explain(&probe, &candidates, &params, None);
        let answer: Vec<_> =
            explained.iter().take_while(|e| e.rank.is_some()).map(|e| e.ranked.key).collect();
        prop_assert_eq!(answer, keys(&ranked));
        prop_assert!(explained.iter().all(|e| e.rank.is_some() != e.dropped.is_some()));

        if !candidates.is_empty() {
            let middle = turn.index(candidates.len());
            candidates.rotate_left(middle);
        }
        prop_assert_eq!(ranked, rank(&probe, &candidates, &params));
    }

    #[test]
    fn without_variety_the_scores_fall(
        memories in memories(),
        probe in prop::collection::vec(-1.0_f32..1.0, 3),
    ) {
        let candidates: Vec<_> =
            (0..).zip(&memories).map(|(key, (vector, q))| candidate(key, vector, *q)).collect();
        let ranked = rank(&probe, &candidates, &PARAMS);
        prop_assert!(ranked.is_sorted_by(|a, b| by_score(a, b).is_lt()));
    }
}

proptest! {
    #[test]
    fn many_scores_are_bounded_closely(
        rows in prop::collection::vec((-1.1_f32..1.1, 0.0..1.0, -1.0..1.0, [0.0..1.0, 0.0..1.0, 0.0..1.0]), 0..40),
        lambda in 0.0..1.0,
    ) {
        let merit = |q: f64, lift: f64, fit: [f64; 3]| Merit { q, effect: Effect::new(lift, fit) };
        let mut merits = Merits::default();
        for (_, q, lift, fit) in &rows {
            merits.push(merit(*q, *lift, *fit));
        }
        let similarities: Vec<f32> = rows.iter().map(|row| row.0).collect();
        for rule in [Rule::Classic { lambda }, Rule::Learned(Learned { least: 0.0 })] {
            let mut scores = vec![0.0; rows.len()];
            dispatch!(Level::new(), _simd => rule.scores(&similarities, &merits, &mut scores));
            for (at, similarity) in similarities.iter().enumerate() {
                let (score, bound) = (rule.score(f64::from(*similarity), merits.get(at)), f64::from(scores[at]));
                prop_assert!(score <= bound && bound < score + 1e-4, "{rule:?}: {score} {bound}");
            }
        }
    }
}
