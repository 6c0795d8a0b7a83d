//! Memories that people have merged into others.
//!
//! They are few, so all of them are looked at when one changes.

use std::collections::{BTreeMap, BTreeSet};

use super::merges::Merges;
use crate::id::MemoryKey;

/// What people have merged, as far as it holds: a merge into a memory that is gone does not.
#[derive(Debug, Default)]
pub(super) struct ByHand {
    /// The memories that people have merged, and into which.
    asked: BTreeMap<MemoryKey, MemoryKey>,
    /// Those that hold.
    into: BTreeMap<MemoryKey, MemoryKey>,
    /// The memories that are merged while there is a merge by hand, and what stands for each.
    standing: BTreeMap<MemoryKey, MemoryKey>,
}

impl ByHand {
    /// A memory is new or has changed, or is gone. It is merged into that one, or into none.
    pub(super) fn put(&mut self, key: MemoryKey, into: Option<MemoryKey>) {
        match into {
            Some(into) => self.asked.insert(key, into),
            None => self.asked.remove(&key),
        };
    }

    /// Decides which merges hold, and returns the memories that began or ceased to stand for others.
    pub(super) fn settle(&mut self, stands: impl Fn(MemoryKey) -> bool) -> Vec<MemoryKey> {
        let holds = |(key, into): (&MemoryKey, &MemoryKey)| {
            (stands(*into) && !self.begins_circle(*key)).then_some((*key, *into))
        };
        let into: BTreeMap<_, _> = self.asked.iter().filter_map(holds).collect();
        let before = std::mem::replace(&mut self.into, into);
        let targets = |of: &BTreeMap<_, _>| of.values().copied().collect::<BTreeSet<_>>();
        let (before, now) = (targets(&before), targets(&self.into));
        before.symmetric_difference(&now).copied().collect()
    }

    /// Whether others are merged into this memory.
    pub(super) fn is_target(&self, key: MemoryKey) -> bool {
        self.into.values().any(|into| *into == key)
    }

    /// Whether a person has merged this memory.
    pub(super) fn has(&self, key: MemoryKey) -> bool {
        self.into.contains_key(&key)
    }

    /// The memory that stands for this one, which may itself be merged by a person.
    pub(super) fn standing_for(&self, key: MemoryKey, merges: &Merges) -> Option<MemoryKey> {
        let next = |key| {
            self.into
                .get(&key)
                .copied()
                .or_else(|| merges.standing_for(key))
        };
        // A near-duplicate that others have been merged into by hand may still stand as merged itself.
        let chain = std::iter::successors(next(key), |key| next(*key));
        chain.take(self.into.len() + 1).last()
    }

    /// The memories that are merged into another one than before: those that [`Merges`] has moved, and those
    /// that follow a merge by hand.
    pub(super) fn combine(
        &mut self,
        merges: &Merges,
        moved: Vec<(MemoryKey, Option<MemoryKey>)>,
    ) -> Vec<(MemoryKey, Option<MemoryKey>)> {
        if self.into.is_empty() && self.standing.is_empty() {
            return moved;
        }
        let moved: BTreeSet<_> = moved.into_iter().map(|(key, _)| key).collect();
        let known = self.into.keys().chain(self.standing.keys()).chain(&moved);
        let keys: BTreeSet<_> = known.copied().chain(merges.merged()).collect();
        let (mut changed, mut standing) = (Vec::new(), BTreeMap::new());
        for key in keys {
            let now = self.standing_for(key, merges);
            if moved.contains(&key) || self.standing.get(&key) != now.as_ref() {
                changed.push((key, now));
            }
            standing.extend(now.map(|now| (key, now)));
        }
        if self.into.is_empty() {
            standing.clear();
        }
        self.standing = standing;
        changed
    }

    /// Whether following the merges leads back to this memory, the oldest of the circle. An undo can leave one.
    fn begins_circle(&self, key: MemoryKey) -> bool {
        let next = |key: &MemoryKey| self.asked.get(key).copied();
        let chain = std::iter::successors(next(&key), next);
        let mut chain = chain.take(self.asked.len());
        let mut oldest = key;
        let returns = chain.any(|at| {
            oldest = oldest.min(at);
            at == key
        });
        returns && oldest == key
    }
}
