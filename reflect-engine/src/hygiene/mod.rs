//! Which memories Reflect itself keeps out of answers.
//!
//! A decision follows from the reviews that stand and from what people have decided, so what is taken back
//! leaves nothing of itself: a memory comes back with the next query. [`Upkeep`] follows the changes of a
//! project's memories and says where the stored decisions differ from these rules.

mod by_hand;
mod cap;
mod harm;
mod merges;
mod wording;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reflect_types::MemoryStatus;

use by_hand::ByHand;
use cap::Cap;
use merges::Merges;
use wording::Wording;

use crate::credit::{Credit, Unread};
use crate::hash::KeyedHash;
use crate::store::merges::BY_HAND;
use crate::store::{AsideWrite, IndexedMemory, MemoryKey, RecallSettings, STAGED};

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
    merges: Merges,
    by_hand: ByHand,
    /// Tells what kinds of memories may be merged.
    hash: KeyedHash,
    /// The decisions that differ from the stored ones.
    due: BTreeMap<MemoryKey, AsideWrite>,
}

/// Of a memory that is not known, the default holds.
#[derive(Debug, Default)]
struct Known {
    /// The stored decision.
    aside: Option<MemoryStatus>,
    merged_into: Option<MemoryKey>,
    /// Whether it waits for a person's approval.
    waits: bool,
    /// Whether a person has set it aside.
    quarantined: bool,
    q: f64,
    uses: u64,
    excused: Option<u64>,
}

impl Upkeep {
    /// The upkeep of a project with these settings.
    pub(crate) fn new(settings: &RecallSettings) -> Self {
        let most = settings.max_memories;
        Self {
            cap: Cap::new(most.map(|most| usize::try_from(most).unwrap_or(usize::MAX))),
            ..Self::default()
        }
    }

    /// A memory is new or has changed. `vector` is equal for equal vectors.
    pub(crate) fn put(&mut self, memory: &IndexedMemory, vector: u64) {
        // What was due depended on what the memory was before.
        self.due.remove(&memory.key);
        let wording = self.wording(memory, vector);
        self.merges.put(memory.key, wording);
        self.by_hand.put(memory.key, memory.merge_into);
        let may_harm = memory.uses >= u64::from(harm::LEAST_RUNS);
        let waits = memory.needs_approval && memory.excused.is_none();
        if memory.aside.is_none() && !may_harm && !waits && !self.cap.is_set() {
            self.forget(memory.key);
            // It may have been merged all the time.
            self.touched.insert(memory.key);
            return;
        }
        let known = Known {
            aside: memory.aside.clone(),
            merged_into: memory.merged_into,
            waits,
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
        self.merges.put(key, None);
        self.by_hand.put(key, None);
        self.forget(key);
    }

    fn forget(&mut self, key: MemoryKey) {
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

    /// Decides which memories repeat others, and returns those that are merged into another one than before,
    /// or into none. `similarity` is that of two memories' tasks, and `stands` whether there is a memory. Where
    /// a similarity has to be read first, the next call goes on from there.
    pub(crate) fn merge(
        &mut self,
        similarity: impl Fn(MemoryKey, MemoryKey) -> Result<Option<f64>, Unread>,
        stands: impl Fn(MemoryKey) -> bool,
    ) -> Result<Vec<(MemoryKey, Option<MemoryKey>)>, Unread> {
        for target in self.by_hand.settle(stands) {
            self.merges.keep(target, self.by_hand.is_target(target));
        }
        let moved = self.merges.settle(similarity)?;
        let moved = self.by_hand.combine(&self.merges, moved);
        for (key, _) in &moved {
            self.touched.insert(*key);
            self.rank(*key);
        }
        Ok(moved)
    }

    /// Decides about all memories, by what the runs say about each and by all runs.
    pub(crate) fn settle(&mut self, credit: &Credit) {
        self.find_harm(credit);
        for key in std::mem::take(&mut self.touched) {
            let unknown = Known::default();
            let known = self.known.get(&key).unwrap_or(&unknown);
            let decision = self.decide(key, known, credit);
            if decision.status == known.aside && decision.merged_into == known.merged_into {
                self.due.remove(&key);
            } else {
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
        known + self.cap.bytes() + self.merges.bytes()
    }

    fn decide(&self, key: MemoryKey, known: &Known, credit: &Credit) -> AsideWrite {
        let merged_into = self.merged_into(key);
        let harm = |is_harmful| harm::reason(credit.account(key).as_ref(), is_harmful);
        let (status, reason) = if merged_into.is_some() {
            let reason = if self.by_hand.has(key) {
                BY_HAND
            } else {
                "near-duplicate: an older memory says the same"
            };
            (Some(MemoryStatus::Merged), reason.to_owned())
        } else if known.waits {
            (Some(MemoryStatus::Staged), STAGED.to_owned())
        } else if self.harmful.contains(&key) {
            (Some(MemoryStatus::Quarantined), harm(true))
        } else if self.cap.archives(key) {
            (Some(MemoryStatus::Archived), self.cap.reason())
        } else {
            let reason = match known.aside {
                Some(MemoryStatus::Archived) => "there is room for it again".to_owned(),
                Some(MemoryStatus::Staged) => "the project asks for no approval".to_owned(),
                Some(MemoryStatus::Merged) => "no other memory stands for it any more".to_owned(),
                _ => harm(false),
            };
            (None, reason)
        };
        AsideWrite {
            key,
            status,
            merged_into,
            reason,
        }
    }

    /// What decides whether a memory repeats another one.
    fn wording(&self, memory: &IndexedMemory, vector: u64) -> Option<Wording> {
        let mut kind = serde_json::to_vec(&memory.metadata).ok()?;
        kind.push(u8::from(memory.passed));
        Some(Wording {
            task: memory.task?,
            text: memory.text?,
            kind: self.hash.of(&kind),
            vector,
            may_be_merged: memory.excused.is_none(),
        })
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
            Some(known) if !known.quarantined && !known.waits && !self.is_out(key) => {
                let is_restored = known.excused.is_some();
                self.cap.put(key, known.q, is_restored, &mut self.touched);
            }
            _ => self.cap.remove(key, &mut self.touched),
        }
    }

    /// Whether a memory is out of answers whatever the cap.
    fn is_out(&self, key: MemoryKey) -> bool {
        self.harmful.contains(&key) || self.merged_into(key).is_some()
    }

    /// The memory that stands for this one.
    fn merged_into(&self, key: MemoryKey) -> Option<MemoryKey> {
        self.by_hand.standing_for(key, &self.merges)
    }
}
