//! What is known about the memories of one project.

use super::Index;
use crate::learn::hygiene::{Facts, Upkeep};
use crate::learn::{Credit, ReviewedRun};
use crate::store::{IndexedMemory, MemoryChange, MemoryKey, RecallSettings, Revision};

/// What is known about the memories of one project.
#[derive(Debug)]
pub(super) struct State {
    /// The memories that may be part of an answer.
    pub(super) index: Index,
    /// The others. Their runs are evidence all the same.
    hidden: Index,
    pub(super) credit: Credit,
    pub(super) upkeep: Upkeep,
    pub(super) settings: RecallSettings,
    pub(super) revision: Revision,
}

impl State {
    pub(super) fn new(dims: usize, settings: RecallSettings) -> Self {
        let index = Index::new(dims);
        Self {
            hidden: index.empty_like(),
            index,
            credit: Credit::new(),
            upkeep: Upkeep::new(settings.max_memories, settings.role),
            settings,
            revision: Revision::default(),
        }
    }

    pub(super) fn apply(&mut self, change: MemoryChange) {
        match change {
            MemoryChange::Put(memory) => self.put(&memory),
            MemoryChange::Gone(key) => self.remove(key),
        }
    }

    fn put(&mut self, memory: &IndexedMemory) {
        let (home, other) = if memory.shown {
            (&mut self.index, &mut self.hidden)
        } else {
            (&mut self.hidden, &mut self.index)
        };
        let IndexedMemory { key, vector, .. } = memory;
        let moved = other.merit(*key);
        other.remove(*key);
        if let Err(error) = home.upsert(*key, vector, memory.q, &memory.metadata) {
            tracing::warn!(key, %error, "a stored memory cannot be found by queries");
            self.remove(*key);
            return;
        }
        if let Some(merit) = moved {
            home.set_effects(&[(*key, merit.effect)]);
        }
        let task = home.fingerprint_of(*key).unwrap_or_default();
        let run = ReviewedRun {
            memory: memory.id.as_str(),
            task,
            passed: memory.passed,
            alpha: memory.alpha,
        };
        let given = memory.given.iter().map(reflect_types::MemoryId::as_str);
        self.credit.put(*key, &run, given);
        self.upkeep.put(&facts(memory, task));
    }

    fn remove(&mut self, key: MemoryKey) {
        self.index.remove(key);
        self.hidden.remove(key);
        self.credit.remove(key);
        self.upkeep.remove(key);
    }

    /// Brings what is learned from the runs up to date.
    pub(super) fn settle(&mut self) {
        let similarity = |a, b| Index::similarity([&self.index, &self.hidden], a, b);
        let credit = &self.credit;
        let merged = self.upkeep.merge(similarity, |key| credit.has(key));
        self.credit.merge(&merged);
        let effects = self.credit.settle(similarity);
        self.index.set_effects(&effects);
        self.hidden.set_effects(&effects);
        for (key, _) in effects {
            self.upkeep.touch(key);
        }
        if self.credit.is_settled() {
            self.upkeep.settle(&self.credit);
        }
    }

    /// The memory used.
    pub(super) fn bytes(&self) -> usize {
        let vectors = self.index.bytes() + self.hidden.bytes();
        vectors + self.credit.bytes() + self.upkeep.bytes()
    }
}

/// What decides about a memory, whose vector has this fingerprint.
fn facts(memory: &IndexedMemory, vector: u64) -> Facts<'_> {
    Facts {
        key: memory.key,
        passed: memory.passed,
        metadata: &memory.metadata,
        task: memory.task,
        text: memory.text,
        vector,
        hidden_as: memory.hidden.as_ref(),
        merged_into: memory.merged_into,
        merge_into: memory.merge_into,
        quarantined: memory.quarantined,
        needs_approval: memory.needs_approval,
        q: memory.q,
        uses: memory.uses,
        uses_at_restore: memory.uses_at_restore,
    }
}
