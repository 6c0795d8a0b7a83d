//! The memory that an index takes.

use serde_json::json;

use super::*;

#[test]
fn a_vector_takes_less_than_400_bytes() {
    // The worst case for the hash table, which has just doubled.
    let count = 115_000;
    let mut index = Index::new(384);
    let vector = noise(3, 384);
    for key in 0..count {
        index.upsert(key, &vector, 0.5, &Metadata::new()).unwrap();
    }
    let each = index.bytes() / index.len();
    assert!(each < 400, "{each}");

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
    assert!(shared < 400 && shared <= plain + 2, "{shared}, not {plain}");
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
    let found = index.shortlist(&[1.0; 4], &PARAMS, filter);
    assert_eq!(keys(found), Ok(Some(vec![0])));
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
