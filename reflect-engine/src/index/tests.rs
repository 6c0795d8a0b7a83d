use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::credit::Curve;
use crate::rank::{self, Candidate, Dropped, Learned, Ranked, Rule, explain, rank};

/// The memories of an index, with their exact vectors.
#[derive(Clone, Debug)]
struct Stored {
    vector: Vec<f32>,
    merit: Merit,
    metadata: Metadata,
}

/// The utility also sets the effect, so that every rule has something to tell memories apart by.
fn merit(q: f64) -> Merit {
    let [lift, fit] = [q * 1.2 - 0.6, 1.0 - q].map(|x| format!("{x:.3}").parse().unwrap());
    Merit {
        q,
        effect: Effect { lift, fit },
    }
}

type Memories = BTreeMap<i64, Stored>;

fn index_of(dims: usize, memories: &Memories) -> Index {
    let mut index = Index::new(dims);
    for (key, m) in memories {
        index
            .upsert(*key, &m.vector, m.merit.q, &m.metadata)
            .unwrap();
        index.set_effect(*key, m.merit.effect);
    }
    index
}

fn candidates<'a>(memories: &'a Memories, keys: &[i64]) -> Vec<Candidate<'a>> {
    let of = |key: &i64| Candidate {
        key: *key,
        vector: &memories[key].vector,
        merit: memories[key].merit,
        metadata: Some(&memories[key].metadata),
    };
    keys.iter().map(of).collect()
}

fn rank_of(probe: &[f32], memories: &Memories, keys: &[i64], params: &Params) -> Vec<Ranked> {
    rank(probe, &candidates(memories, keys), params)
}

/// The shortlist, checked against the exact ranking.
fn checked_shortlist(
    index: &Index,
    memories: &Memories,
    probe: &[f32],
    params: &Params,
    filter: Option<&Metadata>,
) -> Vec<i64> {
    let shortlist = index.shortlist(probe, params, filter).unwrap();
    assert!(shortlist.is_sorted_by(|a, b| a < b));

    let passes = |m: &Stored| filter.is_none_or(|filter| rank::matches(filter, Some(&m.metadata)));
    let passing: Vec<_> = memories
        .iter()
        .filter_map(|(key, m)| passes(m).then_some(*key))
        .collect();
    for key in &shortlist {
        assert!(passing.binary_search(key).is_ok(), "{key} is filtered out");
    }

    let all: Vec<_> = memories.keys().copied().collect();
    let explained = explain(probe, &candidates(memories, &all), params, filter);
    let pool = explained
        .iter()
        .filter(|e| matches!(e.dropped, None | Some(Dropped::Variety | Dropped::Limit)));
    for e in pool {
        assert!(shortlist.binary_search(&e.key).is_ok(), "{e:?} is missing");
    }

    assert_eq!(
        rank_of(probe, memories, &shortlist, params),
        rank_of(probe, memories, &passing, params)
    );
    shortlist
}

/// Vectors around a few centres, some of them exactly there, some zero, some far out of scale.
fn vector(dims: usize, centres: Vec<Vec<f32>>) -> impl Strategy<Value = Vec<f32>> {
    let centre = prop::sample::select(centres);
    let noise = prop::collection::vec(-1.0_f32..1.0, dims);
    let spread = prop_oneof![2 => Just(0.0_f32), 3 => Just(0.05), 1 => Just(1.0)];
    let size = prop_oneof![1 => Just(0.0_f32), 8 => Just(1.0), 1 => Just(1e-30), 1 => Just(1e30)];
    (centre, noise, spread, size).prop_map(|(centre, noise, spread, size)| {
        let around = centre
            .iter()
            .zip(noise)
            .map(|(c, n)| (c + spread * n) * size);
        around.collect()
    })
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let value = prop_oneof![
        Just(json!({"team": "a"})),
        Just(json!({"team": ["a", "b"]})),
        Just(json!({"team": "b", "n": 1})),
        Just(json!({})),
    ];
    let some = value.prop_map(|v| serde_json::from_value(v).unwrap());
    prop_oneof![Just(Metadata::new()), some]
}

fn memories() -> impl Strategy<Value = (Memories, Vec<f32>)> {
    let dims = prop_oneof![1_usize..5, 30_usize..36, Just(64), Just(100)];
    let centres = dims.prop_flat_map(|dims| {
        let centre = prop::collection::vec(-1.0_f32..1.0, dims);
        (Just(dims), prop::collection::vec(centre, 1..4))
    });
    centres.prop_flat_map(|(dims, centres)| {
        let q = prop_oneof![3 => Just(0.5), 1 => Just(0.65), 2 => 0.0..1.0];
        let vector = vector(dims, centres).boxed();
        let stored = (vector.clone(), q, metadata()).prop_map(|(vector, q, metadata)| Stored {
            vector,
            merit: merit(q),
            metadata,
        });
        let memories = prop::collection::btree_map(-2000_i64..2000, stored, 0..700);
        (memories, vector)
    })
}

fn learned(least: f64) -> Rule {
    Rule::Learned(Learned {
        curve: Curve::unlearned(),
        least,
    })
}

fn params() -> impl Strategy<Value = Params> {
    let weight = || prop_oneof![Just(0.0), Just(1.0), Just(0.5), 0.0..1.0];
    let floor = prop_oneof![Just(-1.0), Just(0.0), -0.2..1.0];
    let least = prop_oneof![Just(f64::NEG_INFINITY), -0.6..0.6];
    let rule = prop_oneof![
        weight().prop_map(|lambda| Rule::Classic { lambda }),
        least.prop_map(learned),
    ];
    (rule, weight(), floor, 1_usize..15).prop_map(|(rule, mmr_lambda, floor, limit)| Params {
        rule,
        mmr_lambda,
        floor,
        limit,
    })
}

fn filter() -> impl Strategy<Value = Option<Metadata>> {
    let filter = prop_oneof![
        Just(json!({"team": "a"})),
        Just(json!({"team": ["b", "c"]})),
        Just(json!({"team": "b", "n": 1.0})),
        Just(json!({})),
    ];
    prop::option::of(filter.prop_map(|v| serde_json::from_value(v).unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_shortlist_holds_the_exact_pool(
        (memories, probe) in memories(),
        params in params(),
        filter in filter(),
    ) {
        let index = index_of(probe.len(), &memories);
        checked_shortlist(&index, &memories, &probe, &params, filter.as_ref());
    }

    #[test]
    fn it_holds_what_was_last_said_of_each_memory(
        (first, probe) in memories(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4, 0.0..1.0), 0..400),
        params in params(),
    ) {
        let dims = probe.len();
        let mut index = index_of(dims, &first);
        let mut memories = first.clone();
        for (which, change, q) in changes {
            let Some(key) = first.keys().nth(which.index(first.len().max(1))).copied() else {
                break;
            };
            if change == 0 {
                let effect = memories.get(&key).map_or_else(Effect::untested, |m| m.merit.effect);
                let stored = Stored { merit: Merit { q, effect }, ..first[&key].clone() };
                index.upsert(key, &stored.vector, q, &stored.metadata).unwrap();
                memories.insert(key, stored);
            } else if change == 1 {
                let effect = Effect::untested();
                index.set_effect(key, effect);
                memories.entry(key).and_modify(|m| m.merit.effect = effect);
            } else {
                prop_assert_eq!(index.remove(key), memories.remove(&key).is_some());
            }
            prop_assert_eq!(index.len(), memories.len());
        }
        prop_assert!(first.keys().all(|k| index.contains(*k) == memories.contains_key(k)));
        checked_shortlist(&index, &memories, &probe, &params, None);
    }
}

const PARAMS: Params = Params {
    rule: Rule::Classic { lambda: 0.5 },
    mmr_lambda: 0.7,
    floor: -1.0,
    limit: 10,
};

/// Repeatable noise from -1 to 1.
fn noise(seed: u64, dims: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let [high, low, ..] = state.to_be_bytes();
        f32::from(i16::from_be_bytes([high, low])) / 32_768.0
    };
    (0..dims).map(|_| next()).collect()
}

fn noisy_memories(count: u64, dims: usize) -> Memories {
    let stored = |seed| Stored {
        vector: noise(seed, dims),
        merit: merit(f64::from(noise(seed, 1)[0].abs())),
        metadata: Metadata::new(),
    };
    (0..count)
        .map(|seed| (i64::try_from(seed).unwrap(), stored(seed)))
        .collect()
}

#[test]
fn the_shortlist_is_hardly_larger_than_the_pool() {
    let memories = noisy_memories(3_000, 384);
    let index = index_of(384, &memories);
    let classic = [0.0, 0.5, 1.0].map(|lambda| Rule::Classic { lambda });
    for rule in classic.into_iter().chain([learned(-0.15)]) {
        let params = Params { rule, ..PARAMS };
        let shortlist = checked_shortlist(&index, &memories, &noise(9_999, 384), &params, None);
        assert!(
            shortlist.len() <= params.pool() * 3 / 2,
            "{}",
            shortlist.len()
        );
    }
}

#[test]
fn a_task_met_again_and_again_does_not_flood_the_shortlist() {
    let one = noise(1, 48);
    let stored = |key: i64| Stored {
        vector: one.clone(),
        merit: merit(if key % 3 == 0 { 0.5 } else { 0.65 }),
        metadata: Metadata::new(),
    };
    let memories: Memories = (0..2_000).map(|key| (key, stored(key))).collect();
    let index = index_of(48, &memories);
    let classic = [0.0, 0.5, 1.0].map(|lambda| Rule::Classic { lambda });
    for rule in classic.into_iter().chain([learned(-0.15)]) {
        let params = Params { rule, ..PARAMS };
        let shortlist = checked_shortlist(&index, &memories, &noise(2, 48), &params, None);
        assert_eq!(shortlist.len(), params.pool());
    }
}

#[test]
fn what_just_misses_the_floor_pushes_nothing_out() {
    // Their bounds reach the floor although they do not, and their utility is hard to beat.
    let missing = [0.299_99, 0.954, 0.0, 0.0];
    let stored = |key: i64| Stored {
        vector: if key < 200 {
            missing
        } else {
            [1.0, 0.0, 0.0, 0.0]
        }
        .to_vec(),
        merit: merit(if key < 200 { 1.0 } else { 0.0 }),
        metadata: Metadata::new(),
    };
    let memories: Memories = (0..210).map(|key| (key, stored(key))).collect();
    let params = Params {
        rule: Rule::Classic { lambda: 0.9 },
        floor: 0.3,
        ..PARAMS
    };
    let index = index_of(4, &memories);
    let shortlist = checked_shortlist(&index, &memories, &[1.0, 0.0, 0.0, 0.0], &params, None);
    assert!(shortlist.ends_with(&(200..210).collect::<Vec<_>>()));
}

#[test]
fn a_zero_probe_ranks_by_utility_without_a_flood() {
    let memories = noisy_memories(1_000, 16);
    let index = index_of(16, &memories);
    let shortlist = checked_shortlist(&index, &memories, &[0.0; 16], &PARAMS, None);
    assert_eq!(shortlist.len(), PARAMS.pool());
}

#[test]
fn a_vector_takes_less_than_700_bytes() {
    // The worst case for the hash table, which has just doubled.
    let count = 115_000;
    let mut index = Index::new(384);
    let vector = noise(3, 384);
    for key in 0..count {
        index.upsert(key, &vector, 0.5, &Metadata::new()).unwrap();
    }
    let each = index.bytes() / index.len();
    assert!(each < 700, "{each}");

    for key in 0..count {
        assert!(index.remove(key));
    }
    assert!(index.bytes() < 10_000, "{}", index.bytes());
}

#[test]
fn equal_metadata_is_kept_once_and_other_metadata_costs_little() {
    const COUNT: i64 = 10_000;
    let vector = noise(3, 384);
    let each = |metadata: &dyn Fn(i64) -> serde_json::Value| {
        let mut index = Index::new(384);
        for key in 0..COUNT {
            let metadata = serde_json::from_value(metadata(key)).unwrap();
            index.upsert(key, &vector, 0.5, &metadata).unwrap();
        }
        index.bytes() / index.len()
    };
    let plain = each(&|_| json!({}));
    let shared = each(&|key| json!({"team": format!("team {}", key % 7), "n": [1, {"a": 2}]}));
    assert!(shared < 700 && shared <= plain + 2, "{shared}, not {plain}");
    let own = each(&|key| json!({"run": format!("run {key}"), "team": "a"}));
    assert!(own < plain + 250, "{own}, not {plain}");
}

#[test]
fn unused_metadata_is_removed() {
    let metadata = |value| serde_json::from_value::<Metadata>(value).unwrap();
    let (large, small) = (
        metadata(json!({"text": "x".repeat(5_000)})),
        metadata(json!({"team": "a"})),
    );
    let mut index = Index::new(4);
    for key in 0..3 {
        index.upsert(key, &[1.0; 4], 0.5, &large).unwrap();
    }
    let full = index.bytes();
    index.upsert(0, &[1.0; 4], 0.5, &small).unwrap();
    index.upsert(1, &[1.0; 4], 0.5, &large).unwrap();
    assert!(index.remove(1));
    assert!(index.bytes() + 1_000 > full, "one is left");
    assert!(index.remove(2));
    assert!(index.bytes() + 4_500 < full, "none is left");
    let filter = Some(&small);
    assert_eq!(index.shortlist(&[1.0; 4], &PARAMS, filter), Ok(vec![0]));
}

#[test]
fn metadata_counts_only_where_there_is_some() {
    let bytes = |metadata: serde_json::Value| {
        let metadata = serde_json::from_value(metadata).unwrap();
        let mut index = Index::new(4);
        index.upsert(1, &[1.0; 4], 0.5, &metadata).unwrap();
        index.bytes()
    };
    assert!(bytes(json!({})) + 500 <= bytes(json!({"a": [{"b": "x".repeat(500)}]})));
}

#[test]
fn what_cannot_be_compared_is_refused_and_changes_nothing() {
    let mut index = Index::new(2);
    index.upsert(1, &[1.0, 0.0], 0.5, &Metadata::new()).unwrap();
    let dims = Error::Dims {
        expected: 2,
        got: 1,
    };
    assert_eq!(
        index.upsert(2, &[1.0], 0.5, &Metadata::new()),
        Err(dims.clone())
    );
    let not_finite = Error::NotFinite { position: 1 };
    assert_eq!(
        index.upsert(2, &[1.0, f32::NAN], 0.5, &Metadata::new()),
        Err(not_finite.clone())
    );
    assert_eq!(
        index.upsert(2, &[1.0, 1.0], f64::NAN, &Metadata::new()),
        Err(Error::Utility)
    );
    assert_eq!(index.shortlist(&[1.0], &PARAMS, None), Err(dims));
    assert_eq!(
        index.shortlist(&[0.0, f32::INFINITY], &PARAMS, None),
        Err(not_finite)
    );
    assert_eq!(index.shortlist(&[1.0, 0.0], &PARAMS, None), Ok(vec![1]));
}

#[test]
fn it_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Index>();
}
