//! What is known about the memories of one project.

use std::io;

use borsh::{BorshDeserialize, BorshSerialize};
use reflect_types::MemoryId;

use super::members::Members;
use super::{Codes, Index};
use crate::learn::hygiene::{Facts, Upkeep};
use crate::learn::{Credit, ReviewedRun, Unread};
use crate::rank::Learned;
use crate::snapshot::{Cutter, Joiner, Stamp};
use crate::store::{IndexedMemory, MemoryKey, RecallSettings, Revision, VectorSpace};

/// What is known about the memories of one project.
#[derive(Debug)]
pub(super) struct State {
    /// The memories that may be part of an answer.
    pub(super) index: Members,
    /// The others. Their runs are evidence all the same.
    pub(super) hidden: Members,
    pub(super) credit: Credit,
    /// What queries know of `credit`, which may be at work.
    pub(super) learned: Learned,
    pub(super) upkeep: Upkeep,
    pub(super) settings: RecallSettings,
    pub(super) revision: Revision,
}

impl State {
    pub(super) fn new(index: Index, settings: RecallSettings) -> Self {
        let credit = Credit::new();
        Self {
            hidden: Members::Held(index.empty_like()),
            index: Members::Held(index),
            learned: Learned::from(&credit),
            credit,
            upkeep: Upkeep::new(settings.max_memories, settings.role),
            settings,
            revision: Revision::default(),
        }
    }

    pub(super) fn put(&mut self, memory: &IndexedMemory) {
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
        let given = memory.given.iter().map(MemoryId::as_str);
        self.credit.put(*key, &run, given);
        self.upkeep.put(&facts(memory, task));
    }

    pub(super) fn remove(&mut self, key: MemoryKey) {
        self.index.remove(key);
        self.hidden.remove(key);
        self.credit.remove(key);
        self.upkeep.remove(key);
    }

    /// Brings what is learned from the runs up to date with this revision. Where vectors have to be read
    /// first, the next call goes on from there.
    pub(super) fn settle(&mut self, codes: &Codes, revision: Revision) -> Result<(), Unread> {
        let similarity = |a, b| match (&self.index, &self.hidden) {
            (Members::Held(index), Members::Held(hidden)) => {
                Ok(Index::similarity([index, hidden], a, b))
            }
            _ => codes.similarity(a, b),
        };
        let credit = &self.credit;
        let merged = self.upkeep.merge(similarity, |key| credit.has(key))?;
        self.credit.merge(&merged);
        let effects = self.credit.settle(similarity)?;
        self.index.set_effects(&effects);
        self.hidden.set_effects(&effects);
        self.index.sort();
        for (key, _) in effects {
            self.upkeep.touch(key);
        }
        self.learned = Learned::from(&self.credit);
        if self.credit.is_settled() {
            self.upkeep.settle(&self.credit);
        }
        self.revision = revision;
        Ok(())
    }

    /// Leaves the vectors to the store if they take more than this room.
    pub(super) fn keep_within(&mut self, room: usize) {
        if self.index.bytes() + self.hidden.bytes() > room {
            self.index.list();
            self.hidden.list();
        }
    }

    /// Whether everything is decided, and the vectors are in memory.
    pub(super) fn is_settled(&self) -> bool {
        let listed = self.index.are_listed() || self.hidden.are_listed();
        !listed && self.credit.is_settled() && self.upkeep.is_settled()
    }

    /// The parts of a snapshot of a settled state with vectors of this space; `None` of any other state.
    pub(super) fn save(&self, space: &VectorSpace) -> io::Result<Option<Vec<Vec<u8>>>> {
        let (Members::Held(index), Members::Held(hidden)) = (&self.index, &self.hidden) else {
            return Ok(None);
        };
        if !self.is_settled() {
            return Ok(None);
        }
        let mut out = Cutter::default();
        Stamp::new(&(space, &self.settings)).write(&mut out)?;
        (self.revision.epoch, self.revision.number).serialize(&mut out)?;
        index.save(&mut out)?;
        hidden.save(&mut out)?;
        self.credit.serialize(&mut out)?;
        self.upkeep.serialize(&mut out)?;
        Ok(Some(out.parts()))
    }

    /// Loads a state from a snapshot of vectors of this space, and of the same settings.
    pub(super) fn load(
        space: &VectorSpace,
        settings: RecallSettings,
        mut input: Joiner,
    ) -> io::Result<Self> {
        Stamp::new(&(space, &settings)).check(&mut input)?;
        let (epoch, number) = BorshDeserialize::deserialize_reader(&mut input)?;
        let index = Members::Held(Index::load(&mut input)?);
        let hidden = Members::Held(Index::load(&mut input)?);
        let credit = Credit::deserialize_reader(&mut input)?;
        let upkeep = Upkeep::deserialize_reader(&mut input)?;
        input.finish()?;
        Ok(Self {
            index,
            hidden,
            learned: Learned::from(&credit),
            credit,
            upkeep,
            settings,
            revision: Revision { epoch, number },
        })
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
        hidden_as: memory.aside.as_ref(),
        merged_into: memory.merged_into,
        merge_into: memory.merge_into,
        quarantined: memory.quarantined,
        needs_approval: memory.needs_approval,
        q: memory.q,
        uses: memory.uses,
        uses_at_restore: memory.excused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Fnv;
    use crate::learn::sketch::Sketch;

    /// A memory of a run that was given some of those before it.
    fn memory(key: MemoryKey) -> IndexedMemory {
        let given = (1..4).map(|back| key - back * back).filter(|key| *key > 0);
        let angle = |component: i64| (key * (component + 3)) % 7 - 3;
        let metadata = serde_json::json!({"team": key % 3});
        IndexedMemory {
            key,
            id: MemoryId::new(format!("memory-{key}")),
            vector: (0..8)
                .map(|n| f32::from(i8::try_from(angle(n)).unwrap()))
                .collect(),
            q: 0.5,
            metadata: serde_json::from_value(metadata).unwrap(),
            passed: key % 3 > 0,
            alpha: 0.3,
            given: given
                .map(|key| MemoryId::new(format!("memory-{key}")))
                .collect(),
            shown: key % 5 > 0,
            aside: None,
            merged_into: None,
            quarantined: key % 5 == 0,
            merge_into: None,
            needs_approval: false,
            uses: 3,
            excused: None,
            task: Sketch::of(&format!("task {key}")),
            text: Sketch::of(&format!("what task {key} taught")),
        }
    }

    #[test]
    fn what_is_saved_and_computed_is_what_the_format_stands_for() {
        let mut state = State::new(Index::new(8), RecallSettings::default());
        for key in 1..=60 {
            state.put(&memory(key));
        }
        state
            .settle(&Codes::default(), Revision::default())
            .unwrap();
        let mut accounts: Vec<_> = state.credit.accounts().into_iter().collect();
        accounts.sort_unstable_by_key(|(key, _)| *key);
        // Rounded: the last digits of a logarithm depend on the machine.
        let digest = accounts.iter().fold(Fnv::new(), |digest, (key, account)| {
            let text = format!(
                "{key} {:.4} {:.4}",
                account.kinds.harmful, account.kinds.general
            );
            digest.bytes(text.as_bytes())
        });
        let parts = state.save(&VectorSpace::new("test", 8)).unwrap().unwrap();
        let bytes: usize = parts.iter().map(Vec::len).sum();
        let version = env!("CARGO_PKG_VERSION").len();
        assert_eq!(
            (bytes - version, digest.finish()),
            (103_806, 2_382_772_884_413_516_641),
            "raise FORMAT in snapshot/mod.rs, and change these numbers"
        );
    }
}
