//! Which memories Reflect itself keeps out of answers.
//!
//! A decision follows from the reviews that stand and from what people have decided, so what is taken back
//! leaves nothing of itself: a memory comes back with the next query. [`Upkeep`] follows the changes of a
//! project's memories and says where the stored decisions differ from these rules.

mod cap;
mod harm;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reflect_types::MemoryStatus;

use cap::Cap;

use crate::credit::Credit;
use crate::store::{AsideWrite, IndexedMemory, MemoryKey};

/// What decisions about a project's memories depend on, and the decisions that are due.
#[derive(Debug, Default)]
pub(crate) struct Upkeep {
    /// The memories about which there may be a decision.
    known: HashMap<MemoryKey, Known>,
    /// Those that have changed.
    touched: BTreeSet<MemoryKey>,
    /// Those that do harm, or would if the project's other runs say so.
    suspects: BTreeSet<MemoryKey>,
    /// Those of them that do harm.
    harmful: BTreeSet<MemoryKey>,
    cap: Cap,
    /// The decisions that differ from the stored ones.
    due: BTreeMap<MemoryKey, AsideWrite>,
}

#[derive(Debug)]
struct Known {
    /// The stored decision.
    aside: Option<MemoryStatus>,
    /// Whether a person has set it aside.
    quarantined: bool,
    q: f64,
    uses: u64,
    excused: Option<u64>,
}

impl Upkeep {
    /// The upkeep of a project that keeps at most so many memories in answers.
    pub(crate) fn new(most: Option<u64>) -> Self {
        Self {
            cap: Cap::new(most.map(|most| usize::try_from(most).unwrap_or(usize::MAX))),
            ..Self::default()
        }
    }

    /// A memory is new or has changed.
    pub(crate) fn put(&mut self, memory: &IndexedMemory) {
        let may_harm = memory.uses >= u64::from(harm::LEAST_RUNS);
        if memory.aside.is_none() && !may_harm && !self.cap.is_set() {
            self.remove(memory.key);
            return;
        }
        let known = Known {
            aside: memory.aside.clone(),
            quarantined: memory.quarantined,
            q: memory.q,
            uses: memory.uses,
            excused: memory.excused,
        };
        self.known.insert(memory.key, known);
        self.touched.insert(memory.key);
        self.rank(memory.key);
    }

    /// A memory is gone.
    pub(crate) fn remove(&mut self, key: MemoryKey) {
        self.cap.remove(key, &mut self.touched);
        self.known.remove(&key);
        self.touched.remove(&key);
        self.suspects.remove(&key);
        self.harmful.remove(&key);
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
        self.find_harm(credit);
        for key in std::mem::take(&mut self.touched) {
            let Some(known) = self.known.get(&key) else {
                continue;
            };
            let (status, reason) = self.decide(key, known, credit);
            if status == known.aside {
                self.due.remove(&key);
            } else {
                let decision = AsideWrite {
                    key,
                    status,
                    reason,
                };
                self.due.insert(key, decision);
            }
        }
    }

    /// The decisions that differ from the stored ones, by key.
    pub(crate) fn decisions(&self) -> Vec<AsideWrite> {
        self.due.values().cloned().collect()
    }

    /// The memory used, approximately.
    pub(crate) fn bytes(&self) -> usize {
        let known = self.known.capacity() * (size_of::<(MemoryKey, Known)>() + 1);
        known + self.cap.bytes()
    }

    fn decide(
        &self,
        key: MemoryKey,
        known: &Known,
        credit: &Credit,
    ) -> (Option<MemoryStatus>, String) {
        let reason = |is_harmful| harm::reason(credit.account(key).as_ref(), is_harmful);
        if self.harmful.contains(&key) {
            return (Some(MemoryStatus::Quarantined), reason(true));
        }
        if self.cap.archives(key) {
            return (Some(MemoryStatus::Archived), self.cap.reason());
        }
        let reason = match known.aside {
            Some(MemoryStatus::Archived) => "there is room for it again".to_owned(),
            _ => reason(false),
        };
        (None, reason)
    }

    /// Brings the harmful memories up to date, and touches those that are or were among them.
    fn find_harm(&mut self, credit: &Credit) {
        for key in &self.touched {
            let account = credit.account(*key);
            if account.as_ref().is_some_and(harm::is_suspect) {
                self.suspects.insert(*key);
            } else {
                self.suspects.remove(key);
            }
        }
        let all = credit.tally();
        let is_harmful = |key: &MemoryKey| {
            let known = self.known.get(key).zip(credit.account(*key));
            known.is_some_and(|(known, account)| {
                harm::is_evident(&account, all, known.uses, known.excused)
            })
        };
        let harmful: BTreeSet<_> = self.suspects.iter().copied().filter(is_harmful).collect();
        let before = std::mem::replace(&mut self.harmful, harmful);
        let changed: Vec<_> = before
            .symmetric_difference(&self.harmful)
            .copied()
            .collect();
        for key in changed {
            self.touch(key);
            self.rank(key);
        }
    }

    /// Gives a memory its place under the cap, which counts what may be in answers otherwise.
    fn rank(&mut self, key: MemoryKey) {
        match self.known.get(&key) {
            Some(known) if !known.quarantined && !self.harmful.contains(&key) => {
                let is_restored = known.excused.is_some();
                self.cap.put(key, known.q, is_restored, &mut self.touched);
            }
            _ => self.cap.remove(key, &mut self.touched),
        }
    }
}
