//! Rows of like effect, and of like parts along the centre, share blocks.

use super::super::block::ROWS;
use super::super::cut::Cut;
use super::*;

#[test]
fn after_many_changes_bands_of_rows_are_in_the_order_of_their_effects() {
    let mut index = Index::new(8);
    let count = 6_000;
    for key in 0..count {
        // Most are so much alike that their group does not divide.
        let mut vector = noise(key % 8, 8);
        if key % 5 == 0 {
            let other = noise(key + 100, 8);
            vector
                .iter_mut()
                .zip(other)
                .for_each(|(x, y)| *x += y / 8.0);
        }
        let key = i64::try_from(key).unwrap();
        index.upsert(key, &vector, 0.5, &Metadata::new()).unwrap();
    }
    let effect = |key: u64| merit(f64::from(noise(key + 7_000, 1)[0].abs())).effect;
    let keys = (0..count).map(|key| (i64::try_from(key).unwrap(), effect(key)));
    let effects: Vec<_> = keys.collect();
    index.set_effects(&effects);
    index.sort();

    let most = index.groups.iter().map(|group| group.blocks().len()).max();
    assert!(most >= Some(4), "{most:?}");
    let params = Params {
        rule: learned(f64::NEG_INFINITY),
        ..PARAMS
    };
    let cut = Cut::new(params);
    for group in index.groups.iter() {
        let rows: Vec<_> = (0..group.len())
            .map(|at| {
                (
                    group.merit(at).effect.at(0.8),
                    group.blocks()[at / ROWS].scales().alongs()[at % ROWS],
                )
            })
            .collect();
        let band = group.blocks().len().isqrt().max(1) * ROWS;
        let mut least = f64::MAX;
        for band in rows.chunks(band) {
            assert!(band.is_sorted_by_key(|(_, along)| *along));
            assert!(band.iter().all(|(help, _)| *help <= least));
            least = band.iter().fold(least, |least, (help, _)| least.min(*help));
        }
        for (block, summary) in group.blocks().iter().zip(group.summaries()) {
            // A probe with the same part along the centre as a row may be equal to it.
            let along = f64::from(block.scales().alongs()[0]);
            let (similarity, highest) = summary.highest(along, &cut);
            let scores = block.merits().iter().map(|m| params.score(similarity, m));
            let most = scores.fold(f64::MIN, f64::max);
            assert!((similarity, highest - most) >= (1.0, 0.0) && highest - most < 1e-6);
        }
    }
    for (key, effect) in effects {
        assert_eq!(index.merit(key).map(|merit| merit.effect), Some(effect));
    }
}

#[test]
fn few_changes_move_no_row() {
    let memories = (0..300).map(|key| {
        let stored = Stored {
            vector: noise(key, 8),
            merit: merit(f64::from(noise(key, 1)[0].abs())),
            metadata: Metadata::new(),
        };
        (i64::try_from(key).unwrap(), stored)
    });
    let mut index = index_of(8, &memories.collect());
    let slot = |index: &Index| index.slot(7).unwrap();
    let before = slot(&index);
    index.set_effects(&[(7, Effect::new(0.9, [1.0; 3]))]);
    index.sort();
    let after = slot(&index);
    assert!(before == after);
}
