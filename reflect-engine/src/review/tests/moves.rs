//! Utilities stay the fold of their events, whatever happens to a review.

use proptest::prelude::*;
use reflect_types::Verdict;

use super::support::*;
use crate::learn::{self, Move, Step};
use crate::review::{
    AffectedMemories, Basis, EventWrite, MovedMemory, RecordedEvent, ReviewContext, ShownMemory,
    Utility, UtilityWrite, decide,
};

/// Moves by the stored review and by others, at least one by the stored one.
fn any_history() -> impl Strategy<Value = Vec<(String, Move)>> {
    let any_move = (any::<bool>(), 0.0..=1.0, any::<bool>()).prop_map(|(own, alpha, pass)| {
        let review = if own { STORED } else { "r-else" };
        let reward = f64::from(u8::from(pass));
        (review.to_owned(), Move { alpha, reward })
    });
    prop::collection::vec(any_move, 1..12).prop_map(|mut history| {
        STORED.clone_into(&mut history[0].0);
        history
    })
}

/// The memory after the writes, checked to be the fold of its events.
fn written(memory: &MovedMemory, write: &UtilityWrite) -> (MovedMemory, f64) {
    let mut events = memory.events.clone();
    for write in &write.events {
        match write {
            EventWrite::Append(new) => events.push(RecordedEvent {
                key: i64::try_from(events.len()).unwrap(),
                review_id: new.review_id.clone(),
                teacher: new.teacher.clone(),
                at: new.created_at,
                void: false,
                change: new.change,
                step: new.step,
            }),
            EventWrite::Update {
                key, change, step, ..
            } => {
                let event = events.iter_mut().find(|event| event.key == *key).unwrap();
                (event.change, event.step) = (*change, *step);
            }
            EventWrite::Void(key) | EventWrite::Remove(key) => {
                events.retain(|event| event.key != *key);
            }
        }
    }
    let steps: Vec<Step> = learn::replay(events.iter().map(|event| event.change)).collect();
    let stored: Vec<Step> = events.iter().map(|event| event.step).collect();
    assert_eq!(stored, steps);
    let q = steps.last().map_or(learn::INITIAL, |last| last.after);
    assert_eq!(
        (write.q.to_bits(), write.uses),
        (q.to_bits(), steps.len() as u64)
    );
    let memory = MovedMemory {
        memory: memory.memory,
        events,
    };
    (memory, q)
}

fn replayed(history: impl IntoIterator<Item = Move>) -> f64 {
    learn::replay(history)
        .last()
        .map_or(learn::INITIAL, |last| last.after)
}

proptest! {
    #[test]
    fn a_replacement_counts_as_if_it_had_been_the_first(history in any_history(), pass: bool) {
        let memory = moved(history.clone());
        let basis = Basis::Replace(stored(Verdict::Pass));
        let changes = learn(reviewed(vec![memory.clone()]), basis, Verdict::from(pass)).unwrap();
        let change = Move::of(Verdict::from(pass), 0.5).unwrap();
        let (_, q) = written(&memory, &changes.utilities[0]);
        let expected = history.iter().map(|(review, old)| {
            if review == STORED { change } else { *old }
        });
        prop_assert_eq!(q.to_bits(), replayed(expected).to_bits());
    }

    #[test]
    fn a_withdrawn_review_counts_as_if_it_was_never_given(history in any_history()) {
        let memory = moved(history.clone());
        let context = reviewed(vec![memory.clone()]);
        let changes = decide(Some(context), withdraw()).unwrap();
        let (left, q) = written(&memory, &changes.utilities[0]);
        prop_assert!(left.events.iter().all(|event| event.review_id != STORED));
        let expected = history.iter().filter(|(review, _)| review != STORED);
        prop_assert_eq!(q.to_bits(), replayed(expected.map(|(_, old)| *old)).to_bits());
    }

    #[test]
    fn learning_and_withdrawing_cancel_each_other(mut history in any_history(), pass: bool) {
        for (review, _) in &mut history {
            "r-else".clone_into(review);
        }
        let memory = moved(history);
        let before = memory.events.last().map_or(learn::INITIAL, |last| last.step.after);
        let given = ShownMemory {
            id: "m-given".into(),
            utility: Some(Utility { memory: 1, q: before, uses: memory.events.len() as u64, withdrawn: false }),
        };
        let first = learn(ReviewContext::unreviewed(vec![given]), Basis::Fresh, Verdict::from(pass));
        let (memory, _) = written(&memory, &first.unwrap().utilities[0]);
        let mut context = reviewed(vec![memory.clone()]);
        "r-new".clone_into(&mut context.review.as_mut().unwrap().id);
        let changes = decide(Some(context), withdraw()).unwrap();
        let (_, after) = written(&memory, &changes.utilities[0]);
        prop_assert_eq!(after.to_bits(), before.to_bits());
    }

    #[test]
    fn events_before_the_replaced_one_are_not_written(history in any_history(), earlier in any_history()) {
        let earlier = earlier.into_iter().map(|(_, change)| ("r-else".to_owned(), change));
        let untouched = i64::try_from(earlier.len()).unwrap();
        let memory = moved(earlier.chain(history));
        let basis = Basis::Replace(stored(Verdict::Pass));
        let changes = learn(reviewed(vec![memory]), basis, Verdict::Fail).unwrap();
        for event in &changes.utilities[0].events {
            let later = matches!(event, EventWrite::Update { key, .. } if *key >= untouched);
            prop_assert!(later, "{:?}", event);
        }
    }
}

#[test]
fn a_replacement_that_moves_alike_writes_no_event() {
    let change = Move::of(Verdict::Pass, 0.5).unwrap();
    let memory = moved([(STORED.to_owned(), change)]);
    let basis = Basis::Replace(stored(Verdict::Pass));
    let context = ReviewContext {
        memories: AffectedMemories::Moved(vec![memory]),
        ..reviewed(Vec::new())
    };
    let changes = learn(context, basis, Verdict::Pass).unwrap();
    assert_eq!(changes.utilities[0].events, []);
}
