//! The memories that a project keeps in answers: the most useful ones, up to a number.

use std::collections::{BTreeSet, HashMap};

use crate::id::MemoryKey;

/// Divides memories into those that are kept and those beyond the number. Restored ones come first, then
/// those of the highest utility, then the newest.
#[derive(Debug, Default)]
pub(super) struct Cap {
    most: Option<usize>,
    ranks: HashMap<MemoryKey, Rank>,
    /// At most [`most`](Self::most), each above all of `beyond`.
    kept: BTreeSet<Rank>,
    /// Empty unless `kept` is full.
    beyond: BTreeSet<Rank>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Whether a person has restored it.
    restored: bool,
    /// The bits of its utility: those of numbers from 0 to 1 are ordered as these are.
    utility: u64,
    key: MemoryKey,
}

impl Cap {
    pub(super) fn new(most: Option<usize>) -> Self {
        Self {
            most,
            ..Self::default()
        }
    }

    pub(super) fn is_set(&self) -> bool {
        self.most.is_some()
    }

    /// Adds a memory or changes its rank. The memories whose place changes are added to `moved`.
    pub(super) fn put(
        &mut self,
        key: MemoryKey,
        utility: f64,
        restored: bool,
        moved: &mut BTreeSet<MemoryKey>,
    ) {
        let Some(most) = self.most else { return };
        self.remove(key, moved);
        let rank = Rank {
            restored,
            utility: utility.clamp(0.0, 1.0).to_bits(),
            key,
        };
        self.ranks.insert(key, rank);
        self.kept.insert(rank);
        moved.insert(key);
        if self.kept.len() > most
            && let Some(last) = self.kept.pop_first()
        {
            self.beyond.insert(last);
            moved.insert(last.key);
        }
    }

    /// Removes a memory.
    pub(super) fn remove(&mut self, key: MemoryKey, moved: &mut BTreeSet<MemoryKey>) {
        let Some(rank) = self.ranks.remove(&key) else {
            return;
        };
        moved.insert(key);
        if self.kept.remove(&rank) {
            if let Some(next) = self.beyond.pop_last() {
                self.kept.insert(next);
                moved.insert(next.key);
            }
        } else {
            self.beyond.remove(&rank);
        }
    }

    /// Whether a memory is beyond the number. One that a person has restored never is.
    pub(super) fn archives(&self, key: MemoryKey) -> bool {
        let rank = self.ranks.get(&key);
        rank.is_some_and(|rank| !rank.restored && self.beyond.contains(rank))
    }

    /// Why a memory is archived.
    pub(super) fn reason(&self) -> String {
        let most = self.most.unwrap_or_default();
        format!("cap: the project keeps its {most} most useful memories")
    }

    /// The memory used, approximately.
    pub(super) fn bytes(&self) -> usize {
        self.ranks.len() * 3 * size_of::<(MemoryKey, Rank)>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn archived(cap: &Cap) -> BTreeSet<MemoryKey> {
        let keys = cap.ranks.keys().copied();
        keys.filter(|key| cap.archives(*key)).collect()
    }

    proptest! {
        #[test]
        fn whatever_the_order_the_least_useful_are_archived(
            steps in prop::collection::vec((0..12_i64, 0..4_u8, any::<bool>(), any::<bool>()), 0..60),
            most in 1..6_usize,
        ) {
            let mut cap = Cap::new(Some(most));
            let (mut known, mut seen) = (HashMap::new(), BTreeSet::new());
            for (key, utility, restored, is_gone) in steps {
                let mut moved = BTreeSet::new();
                if is_gone {
                    cap.remove(key, &mut moved);
                    known.remove(&key);
                } else {
                    cap.put(key, f64::from(utility) / 4.0, restored, &mut moved);
                    known.insert(key, (restored, utility, key));
                }
                let mut ranks: Vec<_> = known.values().copied().collect();
                ranks.sort_unstable();
                let beyond = ranks.len().saturating_sub(most);
                let expected = ranks[..beyond].iter().filter(|(restored, ..)| !restored);
                let expected: BTreeSet<_> = expected.map(|(.., key)| *key).collect();
                let now = archived(&cap);
                prop_assert_eq!(&now, &expected);
                prop_assert!(now.symmetric_difference(&seen).all(|key| moved.contains(key)));
                seen = now;
            }
        }
    }
}
