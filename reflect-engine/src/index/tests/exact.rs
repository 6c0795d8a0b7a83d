//! The shortlist against the exact ranking, over arbitrary memories, queries and changes.

use proptest::prelude::*;
use serde_json::json;

use super::*;

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

fn params() -> impl Strategy<Value = Params> {
    let weight = || prop_oneof![Just(0.0), Just(1.0), Just(0.5), 0.0..1.0];
    let floor = prop_oneof![Just(-1.0), Just(0.0), -0.2..1.0];
    let floor = prop_oneof![
        floor.clone().prop_map(Floor::Set),
        floor.prop_map(Floor::Noise),
    ];
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
    fn a_query_reads_the_exact_pool(
        (memories, probe) in memories(),
        params in params(),
        filter in filter(),
    ) {
        let index = index_of(probe.len(), &memories);
        checked_read(&index, &memories, &probe, &params, filter.as_ref());
    }

    #[test]
    fn each_query_of_a_pass_reads_its_own_exact_pool(
        (memories, probe) in memories(),
        others in prop::collection::vec((any::<prop::sample::Index>(), params(), filter()), 1..8),
    ) {
        let index = index_of(probe.len(), &memories);
        let probes = others.iter().map(|(which, ..)| {
            let other = memories.values().nth(which.index(memories.len() + 1));
            other.map_or(&probe, |other| &other.vector)
        });
        let queries = probes.zip(&others).map(|(probe, (_, params, filter))| Sought {
            probe,
            params: *params,
            filter: filter.as_ref(),
        });
        let queries: Vec<_> = queries.collect();
        let shortlists = index.shortlists(&queries).unwrap();
        for (shortlist, Sought { probe, params, filter }) in shortlists.into_iter().zip(&queries) {
            checked_shortlist(shortlist, &memories, probe, params, *filter);
        }
    }

    #[test]
    fn what_is_published_stays_the_same_while_the_index_changes(
        (memories, probe) in memories(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..4, 0.0..1.0), 0..100),
        params in params(),
    ) {
        let mut index = index_of(probe.len(), &memories);
        let published = index.rows.clone();
        for (which, change, q) in changes {
            let Some((key, stored)) = memories.iter().nth(which.index(memories.len().max(1))) else {
                break;
            };
            match change {
                0 => index.set_effects(&[(*key, merit(q).effect)]),
                1 => index.upsert(*key, &stored.vector, q, &Metadata::new()).unwrap(),
                2 => index.upsert(*key, &probe, q, &stored.metadata).unwrap(),
                _ => drop(index.remove(*key)),
            }
        }
        let sought = Sought { probe: &probe, params, filter: None };
        for shortlist in scan::scan(published.blocks(), &[sought]) {
            checked_shortlist(shortlist, &memories, &probe, &params, None);
        }
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
                let Merit { effect, .. } = merit(q);
                index.set_effects(&[(key, effect)]);
                memories.entry(key).and_modify(|m| m.merit.effect = effect);
            } else {
                prop_assert_eq!(index.remove(key), memories.remove(&key).is_some());
            }
            prop_assert_eq!(index.len(), memories.len());
        }
        prop_assert!(first.keys().all(|k| index.contains(*k) == memories.contains_key(k)));
        checked_read(&index, &memories, &probe, &params, None);
    }
}
