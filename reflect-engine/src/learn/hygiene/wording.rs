//! What a memory says, as far as near-duplicates go.

use crate::hash::Fnv;
use crate::learn::sketch::{TaskSketch, TextSketch};

/// The number of parts of the sketches, of which one has to agree.
const PARTS: usize = 4;
/// The number of slots of each sketch in a part.
const TASK_SLOTS: usize = 3;
const TEXT_SLOTS: usize = 4;
/// The hash of a part of a memory's sketches and of its kind.
pub(super) type Part = u64;

/// What decides whether a memory repeats another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wording {
    pub(super) task: TaskSketch,
    pub(super) text: TextSketch,
    /// Equal for memories that may be merged: of the same verdict and metadata.
    pub(super) kind: u64,
    /// Equal for equal vectors.
    pub(super) vector: u64,
    /// Whether it may be merged into another one, and not only another one into it.
    pub(super) may_be_merged: bool,
}

impl Wording {
    /// The parts of its sketches.
    pub(super) fn parts(&self) -> impl Iterator<Item = Part> + use<> {
        let Self {
            task, text, kind, ..
        } = *self;
        (0_u8..).take(PARTS).map(move |part| {
            let from = usize::from(part);
            let task: [u8; TASK_SLOTS] = task.some_slots(from * TASK_SLOTS);
            let text: [u8; TEXT_SLOTS] = text.some_slots(from * TEXT_SLOTS);
            let hash = Fnv::new().bytes(&kind.to_le_bytes()).byte(part);
            hash.bytes(&task).bytes(&text).finish()
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// As `docs/memories.md` says: 1 - (1 - 0.9^4)^4 of them, by the slots that have to agree.
    #[test]
    fn most_texts_with_nine_tenths_in_common_are_compared() {
        let of = |text: String| Wording {
            text: TextSketch::of(&text).unwrap(),
            task: TaskSketch::of("Refund the lamp").unwrap(),
            kind: 1,
            vector: 0,
            may_be_merged: true,
        };
        // 60 words and 59 pairs, of which the last three of each differ: 113 of 125.
        let compared = (0..2_000).filter(|n| {
            let word = |from: &str, word| format!("{from}{n}x{word} ");
            let same: String = (0..57).map(|at| word("a", at)).collect();
            let [one, other] = ["b", "c"].map(|from| {
                let rest: String = (0..3).map(|at| word(from, at)).collect();
                of(format!("{same}{rest}")).parts().collect::<BTreeSet<_>>()
            });
            one.intersection(&other).next().is_some()
        });
        assert_eq!(compared.count() / 20, 98);
    }
}
