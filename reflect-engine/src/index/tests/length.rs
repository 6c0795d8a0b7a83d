//! A query reads few vectors besides the pool.

use super::*;

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
fn a_query_reads_few_vectors_besides_the_pool() {
    let memories = noisy_memories(3_000, 384);
    let index = index_of(384, &memories);
    let classic = [0.0, 0.5, 1.0].map(|lambda| Rule::Classic { lambda });
    for rule in classic.into_iter().chain([learned(-0.15)]) {
        for mmr_lambda in [PARAMS.mmr_lambda, 1.0] {
            let params = Params {
                rule,
                mmr_lambda,
                ..PARAMS
            };
            let read = checked_read(&index, &memories, &noise(9_999, 384), &params, None);
            assert!(
                read.len() <= params.pool().max(24) * 5 / 2,
                "{}",
                read.len()
            );
        }
    }
}

#[test]
fn a_task_met_again_and_again_is_not_read_again_and_again() {
    let one = noise(1, 48);
    let stored = |key: i64| Stored {
        vector: one.clone(),
        merit: merit(if key % 3 == 0 { 0.5 } else { 0.65 }),
        metadata: Metadata::new(),
    };
    let memories: Memories = (0..2_000).map(|key| (key, stored(key))).collect();
    let index = index_of(48, &memories);
    let classic = [0.0, 0.5, 1.0].map(|lambda| Rule::Classic { lambda });
    for rule in classic.into_iter().chain([learned(-0.9)]) {
        for mmr_lambda in [PARAMS.mmr_lambda, 1.0] {
            let params = Params {
                rule,
                mmr_lambda,
                ..PARAMS
            };
            let read = checked_read(&index, &memories, &noise(2, 48), &params, None);
            assert!(read.len() <= params.pool().max(24), "{}", read.len());
        }
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
        floor: Floor::Set(0.3),
        ..PARAMS
    };
    let index = index_of(4, &memories);
    let read = checked_read(&index, &memories, &[1.0, 0.0, 0.0, 0.0], &params, None);
    assert!((200..210).all(|key| read.contains(&key)));
}

#[test]
fn a_zero_probe_ranks_by_utility_without_a_flood() {
    let memories = noisy_memories(1_000, 16);
    let index = index_of(16, &memories);
    let read = checked_read(&index, &memories, &[0.0; 16], &PARAMS, None);
    assert_eq!(read.len(), PARAMS.pool());
}
