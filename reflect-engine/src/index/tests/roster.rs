//! The shortlist from what a store proposes against the exact ranking.

use proptest::prelude::*;

use super::exact::{filter, memories, params};
use super::*;
use crate::rank::vector::Direction;
use crate::store::Nearest;

/// A roster of which some memories were in an index before, and the others are new.
fn roster_of(dims: usize, memories: &Memories, indexed: usize) -> Roster {
    let before = memories.iter().take(indexed);
    let before = before.map(|(key, stored)| (*key, stored.clone())).collect();
    let mut roster = index_of(dims, &before).into_roster();
    for (key, m) in memories.iter().skip(indexed) {
        roster
            .upsert(*key, &m.vector, m.merit.q, &m.metadata)
            .unwrap();
        roster.set_effects(&[(*key, m.merit.effect)]);
    }
    roster
}

/// What a store proposes that knows similarities up to a margin.
fn nearest(memories: &Memories, probe: &[f32], count: usize, margin: f64) -> Nearest {
    let probe = Direction::of(probe);
    let mut all: Vec<(i64, f64)> = memories
        .iter()
        .map(|(key, m)| {
            let exact = Direction::of(&m.vector).and_then(|m| probe.as_ref()?.cosine(&m));
            let error = f64::from(noise(key.unsigned_abs(), 1)[0]) * margin;
            (*key, exact.unwrap_or(0.0) + error)
        })
        .collect();
    all.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    all.truncate(count);
    let last = all.last().map(|(_, similarity)| *similarity);
    Nearest {
        others: last.filter(|_| all.len() >= count),
        memories: all,
        margin,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn proposals_lead_to_the_exact_ranking_or_more_are_asked_for(
        (memories, probe) in memories(),
        params in params(),
        filter in filter(),
        indexed in 0_usize..700,
        first in 1_usize..40,
        margin in prop_oneof![Just(0.0), Just(0.001), 0.0..0.2],
    ) {
        let roster = roster_of(probe.len(), &memories, indexed);
        let mut count = first;
        loop {
            let nearest = nearest(&memories, &probe, count, margin);
            let found = roster.shortlist(&probe, &params, filter.as_ref(), &nearest);
            if let Some(shortlist) = found.unwrap() {
                checked_shortlist(shortlist, &memories, &probe, &params, filter.as_ref());
                break;
            }
            prop_assert!(nearest.others.is_some(), "all memories were proposed");
            count *= 2;
        }
    }
}

/// The property above is worth something only if a few proposals are enough at times, and at times not.
#[test]
fn few_proposals_are_enough_where_similarity_decides() {
    let memories: Memories = (0..500_u16)
        .map(|n| {
            let angle = f32::from(n) / 500.0;
            let stored = Stored {
                vector: vec![angle.cos(), angle.sin()],
                merit: merit(0.5),
                metadata: Metadata::new(),
            };
            (i64::from(n), stored)
        })
        .collect();
    let roster = roster_of(2, &memories, 250);
    let probe = [1.0, 0.0];
    let params = Params {
        rule: Rule::Classic { lambda: 0.0 },
        limit: 3,
        ..PARAMS
    };
    let found = |count| {
        let nearest = nearest(&memories, &probe, count, 0.0);
        let found = roster.shortlist(&probe, &params, None, &nearest).unwrap();
        found.map(|shortlist| checked_shortlist(shortlist, &memories, &probe, &params, None))
    };
    assert!(found(100).is_some_and(|read| read.len() < 100));
    assert!(found(2).is_none());
}
