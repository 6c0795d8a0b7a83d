//! What the tests of an index share: memories with their exact vectors, and the check of a shortlist
//! against the exact ranking.

mod exact;
mod length;
mod room;

use std::collections::BTreeMap;

use super::*;

use crate::rank::{self, Candidate, Floor, Learned, Ranked, Rule, explain, rank};

/// The memories of an index, with their exact vectors.
#[derive(Clone, Debug)]
struct Stored {
    vector: Vec<f32>,
    merit: Merit,
    metadata: Metadata,
}

/// The utility also sets the effect, so that every rule has something to tell memories apart by.
fn merit(q: f64) -> Merit {
    let rounded = |x: f64| (x * 1e3).round() / 1e3;
    let fit = [1.0 - q, q / 2.0, (q - 0.5).abs()].map(rounded);
    Merit {
        q,
        effect: Effect::new(rounded(q * 1.2 - 0.6), fit),
    }
}

type Memories = BTreeMap<i64, Stored>;

fn index_of(dims: usize, memories: &Memories) -> Index {
    let mut index = Index::new(dims);
    for (key, m) in memories {
        index
            .upsert(*key, &m.vector, m.merit.q, &m.metadata)
            .unwrap();
        index.set_effects(&[(*key, m.merit.effect)]);
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

/// What a query reads, checked against the exact ranking.
fn checked_read(
    index: &Index,
    memories: &Memories,
    probe: &[f32],
    params: &Params,
    filter: Option<&Metadata>,
) -> Vec<i64> {
    let shortlist = index.shortlist(probe, params, filter).unwrap();
    checked_shortlist(shortlist, memories, probe, params, filter)
}

/// What a query reads of a shortlist, checked against the exact ranking.
fn checked_shortlist(
    shortlist: Shortlist,
    memories: &Memories,
    probe: &[f32],
    params: &Params,
    filter: Option<&Metadata>,
) -> Vec<i64> {
    let read = read(shortlist, memories);

    let passes = |m: &Stored| filter.is_none_or(|filter| rank::matches(filter, Some(&m.metadata)));
    let passing: Vec<_> = memories
        .iter()
        .filter_map(|(key, m)| passes(m).then_some(*key))
        .collect();
    for key in &read {
        assert!(passing.binary_search(key).is_ok(), "{key} is filtered out");
    }

    let all: Vec<_> = memories.keys().copied().collect();
    let explained = explain(probe, &candidates(memories, &all), params, filter);
    for e in explained.iter().filter(|e| e.mmr.is_some()) {
        assert!(read.contains(&e.ranked.key), "{e:?} is missing");
    }

    assert_eq!(
        rank_of(probe, memories, &read, params),
        rank_of(probe, memories, &passing, params)
    );
    read
}

/// The memories whose exact vectors the shortlist asks for.
fn read(mut shortlist: Shortlist, memories: &Memories) -> Vec<i64> {
    let mut read = Vec::new();
    while let Some(batch) = shortlist.next_batch() {
        assert!(batch.is_sorted_by(|a, b| a < b));
        for key in &batch {
            assert_eq!(shortlist.merit(*key), Some(memories[key].merit));
            shortlist.record(*key, &memories[key].vector);
        }
        read.extend(batch);
    }
    read
}

/// The keys that may be in the pool.
fn keys(shortlist: Result<Shortlist, Error>) -> Result<Option<Vec<i64>>, Error> {
    shortlist.map(|mut shortlist| shortlist.next_batch())
}

fn learned(least: f64) -> Rule {
    Rule::Learned(Learned { least })
}

const PARAMS: Params = Params {
    rule: Rule::Classic { lambda: 0.5 },
    mmr_lambda: 0.7,
    floor: Floor::Set(-1.0),
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
    assert_eq!(keys(index.shortlist(&[1.0], &PARAMS, None)), Err(dims));
    assert_eq!(
        keys(index.shortlist(&[0.0, f32::INFINITY], &PARAMS, None)),
        Err(not_finite)
    );
    let found = index.shortlist(&[1.0, 0.0], &PARAMS, None);
    assert_eq!(keys(found), Ok(Some(vec![1])));
}

#[test]
fn it_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Index>();
}
