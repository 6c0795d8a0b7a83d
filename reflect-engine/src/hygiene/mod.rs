//! Which memories Reflect itself keeps out of answers.
//!
//! A decision follows from the reviews that stand and from what people have decided, so what is taken back
//! leaves nothing of itself: a memory comes back with the next query. [`Upkeep`] follows the changes of a
//! project's memories and says where the stored decisions differ from these rules.

mod harm;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reflect_types::MemoryStatus;

use crate::credit::Credit;
use crate::store::{AsideWrite, IndexedMemory, MemoryKey};

/// What decisions about a project's memories depend on, and the decisions that are due.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    /// The memories about which there may be a decision.
    known: HashMap<MemoryKey, Known>,
    /// Those whose own runs have changed.
    touched: BTreeSet<MemoryKey>,
    /// Those that are set aside, or would be if the project's other runs say so.
    suspects: BTreeSet<MemoryKey>,
    /// The decisions that differ from the stored ones.
    due: BTreeMap<MemoryKey, AsideWrite>,
}

#[derive(Debug)]
struct Known {
    /// The stored decision.
    aside: Option<MemoryStatus>,
    uses: u64,
    excused: u64,
}

impl Upkeep {
    /// A memory is new or has changed.
    pub(crate) fn put(&mut self, memory: &IndexedMemory) {
        if memory.aside.is_none() && memory.uses < u64::from(harm::LEAST_RUNS) {
            self.remove(memory.key);
            return;
        }
        let known = Known {
            aside: memory.aside.clone(),
            uses: memory.uses,
            excused: memory.excused,
        };
        self.known.insert(memory.key, known);
        self.touch(memory.key);
    }

    /// A memory is gone.
    pub(crate) fn remove(&mut self, key: MemoryKey) {
        self.known.remove(&key);
        self.touched.remove(&key);
        self.suspects.remove(&key);
        self.due.remove(&key);
    }

    /// What reviews say about a memory has changed.
    pub(crate) fn touch(&mut self, key: MemoryKey) {
        if self.known.contains_key(&key) {
            self.touched.insert(key);
        }
    }

    /// Decides about all memories, by what the runs say about each and by all runs.
    pub(crate) fn settle(&mut self, credit: &Credit) {
        for key in std::mem::take(&mut self.touched) {
            let is_aside = self
                .known
                .get(&key)
                .is_some_and(|known| known.aside.is_some());
            let account = credit.account(key);
            if is_aside || account.as_ref().is_some_and(harm::is_suspect) {
                self.suspects.insert(key);
            } else {
                self.suspects.remove(&key);
                self.due.remove(&key);
            }
        }
        let all = credit.tally();
        for key in self.suspects.iter().copied() {
            let Some(known) = self.known.get(&key) else {
                continue;
            };
            let account = credit.account(key);
            let is_harmful = account
                .as_ref()
                .is_some_and(|account| harm::is_evident(account, all, known.uses, known.excused));
            let status = is_harmful.then_some(MemoryStatus::Quarantined);
            if status == known.aside {
                self.due.remove(&key);
                continue;
            }
            let reason = harm::reason(account.as_ref(), is_harmful);
            let decision = AsideWrite {
                key,
                status,
                reason,
            };
            self.due.insert(key, decision);
        }
    }

    /// The decisions that differ from the stored ones, by key.
    pub(crate) fn decisions(&self) -> Vec<AsideWrite> {
        self.due.values().cloned().collect()
    }

    /// The memory used, approximately.
    pub(crate) fn bytes(&self) -> usize {
        self.known.capacity() * (size_of::<(MemoryKey, Known)>() + 1)
    }
}
