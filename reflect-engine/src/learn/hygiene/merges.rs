//! Which memories say what an older one says.
//!
//! A memory is merged into the oldest one that it nearly repeats and that is not merged itself. Memories are
//! compared only if a part of their sketches agrees: what is merged is a function of the memories that stand,
//! whatever the order in which they came.

use std::collections::{BTreeMap, BTreeSet};

use super::wording::{Part, Wording};
use crate::id::MemoryKey;

/// The least share of words and pairs of words that two texts have in common.
const SAME_TEXT: f64 = 0.9;
/// The least cosine similarity of two tasks.
const SAME_TASK: f64 = 0.95;
/// The number of memories with the same part, the oldest first, that a memory is compared with.
const MOST_COMPARED: usize = 16;

/// The memories of a project by what they say.
#[derive(Debug, Default)]
pub(super) struct Merges {
    wordings: BTreeMap<MemoryKey, Wording>,
    /// Those that are not merged, by their parts.
    standing: BTreeSet<(Part, MemoryKey)>,
    /// Those that are, by their parts.
    repeating: BTreeSet<(Part, MemoryKey)>,
    /// No filed memory is younger.
    youngest: MemoryKey,
    into: BTreeMap<MemoryKey, MemoryKey>,
    /// Those that others are merged into by hand, which are not merged into others.
    kept: BTreeSet<MemoryKey>,
    /// Those to decide about again.
    due: BTreeSet<MemoryKey>,
    /// Those whose memory has changed, with what it was.
    changed: BTreeMap<MemoryKey, Option<Wording>>,
    /// Those that are merged into another memory than the last call of `settle` has told.
    moved: BTreeMap<MemoryKey, Option<MemoryKey>>,
}

impl Merges {
    /// A memory is new or has changed; `None` if it is gone or says nothing.
    pub(super) fn put(&mut self, key: MemoryKey, wording: Option<Wording>) {
        let before = match wording {
            Some(wording) => self.wordings.insert(key, wording),
            None => self.wordings.remove(&key),
        };
        if before == wording {
            return;
        }
        if let Some(before) = before {
            for part in before.parts() {
                self.standing.remove(&(part, key));
                self.repeating.remove(&(part, key));
            }
        }
        self.changed.entry(key).or_insert(before);
        self.due.insert(key);
    }

    /// Keeps a memory from being merged into another one, or not.
    pub(super) fn keep(&mut self, key: MemoryKey, is_kept: bool) {
        let is_new = if is_kept {
            self.kept.insert(key)
        } else {
            self.kept.remove(&key)
        };
        if is_new {
            self.due.insert(key);
        }
    }

    /// The memory that stands for this one.
    pub(super) fn standing_for(&self, key: MemoryKey) -> Option<MemoryKey> {
        self.into.get(&key).copied()
    }

    /// Decides about all that have changed and what depends on them, and returns those that are merged into
    /// another memory than before, or into none. `similarity` is that of two memories' tasks.
    pub(super) fn settle(
        &mut self,
        similarity: impl Fn(MemoryKey, MemoryKey) -> Option<f64>,
    ) -> Vec<(MemoryKey, Option<MemoryKey>)> {
        // By their age: what stands is known of all older ones.
        while let Some(key) = self.due.first().copied() {
            let into = self.find(key, &similarity);
            self.due.remove(&key);
            let change = self.changed.remove(&key);
            let (before, stood) = (self.standing_for(key), self.stands(key));
            match into {
                Some(into) => self.into.insert(key, into),
                None => self.into.remove(&key),
            };
            if into != before {
                self.moved.insert(key, into);
            }
            let changes_sides = stood != self.stands(key);
            if change.is_some() || changes_sides {
                self.file(key, changes_sides);
                let (before, now) = (change.flatten(), self.wordings.get(&key).copied());
                for part in before.iter().chain(&now).flat_map(Wording::parts) {
                    self.decide_again(part, key);
                }
            }
        }
        std::mem::take(&mut self.moved).into_iter().collect()
    }

    /// The memories that are merged.
    pub(super) fn merged(&self) -> impl Iterator<Item = MemoryKey> + '_ {
        self.into.keys().copied()
    }

    /// The memory used, approximately.
    pub(super) fn bytes(&self) -> usize {
        // Nodes of the trees are three quarters full.
        let filed = self.standing.len() + self.repeating.len();
        let wordings = self.wordings.len() * size_of::<(MemoryKey, Wording)>();
        (wordings + filed * size_of::<(Part, MemoryKey)>()) * 4 / 3
    }

    fn stands(&self, key: MemoryKey) -> bool {
        self.wordings.contains_key(&key) && !self.into.contains_key(&key)
    }

    /// The oldest standing memory that this one repeats.
    fn find(
        &self,
        key: MemoryKey,
        similarity: &impl Fn(MemoryKey, MemoryKey) -> Option<f64>,
    ) -> Option<MemoryKey> {
        let wording = self.to_compare(key)?;
        let mut oldest = MemoryKey::MAX;
        // Parts of memories with the same texts have the same ones.
        let mut compared = Vec::new();
        for part in wording.parts() {
            for older in self.older(part, key) {
                if older >= oldest {
                    break;
                }
                if compared.contains(&older) {
                    continue;
                }
                compared.push(older);
                if self.says_the_same(older, wording)
                    && similarity(older, key).is_some_and(|cos| cos >= SAME_TASK)
                {
                    oldest = older;
                    break;
                }
            }
        }
        (oldest < MemoryKey::MAX).then_some(oldest)
    }

    /// What a memory says, if it may be merged into another one.
    fn to_compare(&self, key: MemoryKey) -> Option<&Wording> {
        let wording = self.wordings.get(&key).filter(|one| one.may_be_merged);
        wording.filter(|_| !self.kept.contains(&key))
    }

    /// The standing memories with this part that a younger one is compared with, the oldest first.
    fn older(&self, part: Part, key: MemoryKey) -> impl Iterator<Item = MemoryKey> + '_ {
        let older = self.standing.range((part, MemoryKey::MIN)..(part, key));
        older.take(MOST_COMPARED).map(|(_, older)| *older)
    }

    fn says_the_same(&self, key: MemoryKey, said: &Wording) -> bool {
        self.wordings.get(&key).is_some_and(|other| {
            other.kind == said.kind && other.text.similarity(&said.text) >= SAME_TEXT
        })
    }

    /// Files a memory among those that stand or those that repeat one, and no longer among the others.
    fn file(&mut self, key: MemoryKey, may_be_among_others: bool) {
        let Some(wording) = self.wordings.get(&key) else {
            return;
        };
        self.youngest = self.youngest.max(key);
        let is_merged = self.into.contains_key(&key);
        for part in wording.parts() {
            let (home, other) = if is_merged {
                (&mut self.repeating, &mut self.standing)
            } else {
                (&mut self.standing, &mut self.repeating)
            };
            if may_be_among_others {
                other.remove(&(part, key));
            }
            home.insert((part, key));
        }
    }

    /// Decides again about the memories with this part that are younger.
    fn decide_again(&mut self, part: Part, than: MemoryKey) {
        if than >= self.youngest {
            return;
        }
        let younger = (part, than + 1)..=(part, MemoryKey::MAX);
        let both = [&self.standing, &self.repeating];
        let keys = both.map(|filed| filed.range(younger.clone()).map(|(_, key)| *key));
        self.due.extend(keys.into_iter().flatten());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::learn::sketch::{TaskSketch, TextSketch};

    /// Two of these are near-duplicates if their numbers differ by one, so that what is merged depends on
    /// the order.
    fn wording(text: usize, task: u64, may_be_merged: bool) -> Wording {
        let words = (0..60).map(|word| match word {
            _ if word < text * 2 => format!("a{word}"),
            _ => format!("b{word}"),
        });
        let words: Vec<_> = words.collect();
        Wording {
            task: TaskSketch::of("Refund the lamp").unwrap(),
            text: TextSketch::of(&words.join(" ")).unwrap(),
            kind: 1,
            vector: task,
            may_be_merged,
        }
    }

    fn similarity(known: &BTreeMap<MemoryKey, Wording>, a: MemoryKey, b: MemoryKey) -> Option<f64> {
        let apart = known.get(&a)?.vector.abs_diff(known.get(&b)?.vector);
        Some(if apart < 2 { 1.0 } else { 0.5 })
    }

    #[test]
    fn a_memory_is_merged_into_the_oldest_that_it_repeats() {
        let mut merges = Merges::default();
        let known = BTreeMap::from([
            (1, wording(3, 0, true)),
            (2, wording(12, 0, true)),
            (3, wording(3, 1, true)),
            (4, wording(3, 2, true)),
            (5, wording(3, 0, false)),
        ]);
        for (key, wording) in &known {
            merges.put(*key, Some(*wording));
        }
        let moved = merges.settle(|a, b| similarity(&known, a, b));
        assert_eq!(moved, [(3, Some(1))]);
        // What is not there leaves its place to the next.
        merges.put(1, None);
        let moved = merges.settle(|a, b| similarity(&known, a, b));
        assert_eq!(moved, [(3, None), (4, Some(3))]);
        merges.put(1, known.get(&1).copied());
        let moved = merges.settle(|a, b| similarity(&known, a, b));
        assert_eq!(moved, [(3, Some(1)), (4, None)]);
    }

    #[test]
    fn a_memory_takes_at_most_200_bytes() {
        let mut merges = Merges::default();
        for key in 0..1_000 {
            let text = format!("memory{key} says{key} this{key}");
            let text = TextSketch::of(&text).unwrap();
            merges.put(
                key,
                Some(Wording {
                    text,
                    ..wording(0, 0, true)
                }),
            );
        }
        merges.settle(|_, _| None);
        let each = merges.bytes() / 1_000;
        assert!((150..=200).contains(&each), "{each}");
    }

    proptest! {
        #[test]
        fn whatever_the_order_the_same_are_merged(
            steps in prop::collection::vec(
                (0..40_i64, prop::option::weighted(0.8, (0..6_usize, 0..4_u64, prop::bool::weighted(0.8))), any::<bool>()),
                0..80,
            ),
        ) {
            let (mut merges, mut known) = (Merges::default(), BTreeMap::new());
            for (key, content, settles) in steps {
                let wording = content.map(|(text, task, may)| wording(text, task, may));
                merges.put(key, wording);
                match wording {
                    Some(wording) => known.insert(key, wording),
                    None => known.remove(&key),
                };
                if settles {
                    merges.settle(|a, b| similarity(&known, a, b));
                }
            }
            merges.settle(|a, b| similarity(&known, a, b));
            let mut again = Merges::default();
            for (key, wording) in &known {
                again.put(*key, Some(*wording));
            }
            again.settle(|a, b| similarity(&known, a, b));
            prop_assert_eq!(merges.into, again.into);
            prop_assert_eq!(merges.standing, again.standing);
            prop_assert_eq!(merges.repeating, again.repeating);
        }
    }
}
