//! Which memories Reflect itself keeps out of answers.
//!
//! A decision follows from the reviews that stand and from what people have decided, so what is taken back
//! leaves nothing of itself: a memory comes back with the next query. [`Upkeep`] follows the changes of a
//! project's memories and says where the stored decisions differ from these rules.
//!
//! Near-duplicates and harm depend on similarities, which differ between embedders. So among engines with different
//! embedders on one store, one decides; the others [follow](Role::Follows) what is stored.

mod by_hand;
mod cap;
mod followed;
mod harm;
mod merges;
mod wording;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reflect_types::{MemoryStatus, Metadata};

use by_hand::ByHand;
use cap::Cap;
use followed::Followed;
use merges::Merges;
use wording::Wording;

use super::Credit;
use super::sketch::{TaskSketch, TextSketch};
use crate::hash::KeyedHash;
use crate::id::MemoryKey;

/// Why a memory waits for approval.
pub(crate) const STAGED: &str = "approval: new memories of the project wait for a person";
/// Why a memory is merged that a person has merged.
pub(crate) const BY_HAND: &str = "merged by a person";

/// Whether an engine decides about memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It does, for all engines on its store.
    #[default]
    Decides,
    /// An engine with another embedder does.
    Follows,
}

/// What decisions about a memory depend on, besides its runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) key: MemoryKey,
    /// Whether the run that it was learned from passed.
    pub(crate) passed: bool,
    pub(crate) metadata: &'a Metadata,
    /// The sketch of its task.
    pub(crate) task: Option<TaskSketch>,
    /// The sketch of what it says.
    pub(crate) text: Option<TextSketch>,
    /// Equal for equal vectors.
    pub(crate) vector: u64,
    /// The stored decision.
    pub(crate) hidden_as: Option<&'a MemoryStatus>,
    pub(crate) merged_into: Option<MemoryKey>,
    /// The memory that a person has merged it into.
    pub(crate) merge_into: Option<MemoryKey>,
    /// Whether a person has quarantined it.
    pub(crate) quarantined: bool,
    /// Whether the project asks for its approval.
    pub(crate) needs_approval: bool,
    pub(crate) q: f64,
    /// The number of reviewed runs that were given it.
    pub(crate) uses: u64,
    /// That number when a person last restored it.
    pub(crate) uses_at_restore: Option<u64>,
}

/// A decision of Reflect itself about a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HygieneDecision {
    pub(crate) key: MemoryKey,
    /// The status that hides it from answers; `None` shows it again.
    pub(crate) hidden_as: Option<MemoryStatus>,
    /// The memory that it is merged into, if that is its status.
    pub(crate) merged_into: Option<MemoryKey>,
    pub(crate) reason: String,
}

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
    due: BTreeMap<MemoryKey, HygieneDecision>,
    /// The decisions of another engine, if that one decides: then nothing is decided here.
    followed: Option<Followed>,
}

/// Of a memory that is not known, the default holds.
#[derive(Debug, Default)]
struct Known {
    /// The stored decision.
    hidden_as: Option<MemoryStatus>,
    merged_into: Option<MemoryKey>,
    /// Whether it waits for a person's approval.
    waits: bool,
    /// Whether a person has quarantined it.
    quarantined: bool,
    q: f64,
    uses: u64,
    uses_at_restore: Option<u64>,
}

impl Upkeep {
    /// The upkeep of a project that keeps at most this number of memories in answers.
    pub(crate) fn new(max_memories: Option<u64>, role: Role) -> Self {
        Self {
            cap: Cap::new(max_memories.map(|most| usize::try_from(most).unwrap_or(usize::MAX))),
            followed: (role == Role::Follows).then(Followed::default),
            ..Self::default()
        }
    }

    /// A memory is new or has changed.
    pub(crate) fn put(&mut self, memory: &Facts<'_>) {
        if let Some(followed) = &mut self.followed {
            return followed.put(memory.key, memory.merged_into);
        }
        // What was due depended on what the memory was before.
        self.due.remove(&memory.key);
        let wording = self.wording(memory);
        self.merges.put(memory.key, wording);
        self.by_hand.put(memory.key, memory.merge_into);
        let may_harm = memory.uses >= u64::from(harm::LEAST_RUNS);
        let waits = memory.needs_approval && memory.uses_at_restore.is_none();
        if memory.hidden_as.is_none() && !may_harm && !waits && !self.cap.is_set() {
            self.forget(memory.key);
            // It may have been merged all the time.
            self.touched.insert(memory.key);
            return;
        }
        let known = Known {
            hidden_as: memory.hidden_as.cloned(),
            merged_into: memory.merged_into,
            waits,
            quarantined: memory.quarantined,
            q: memory.q,
            uses: memory.uses,
            uses_at_restore: memory.uses_at_restore,
        };
        self.known.insert(memory.key, known);
        self.touched.insert(memory.key);
        self.rank(memory.key);
    }

    /// A memory is gone.
    pub(crate) fn remove(&mut self, key: MemoryKey) {
        if let Some(followed) = &mut self.followed {
            return followed.remove(key);
        }
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
    /// or into none. `similarity` is that of two memories' tasks, and `stands` whether there is a memory.
    pub(crate) fn merge(
        &mut self,
        similarity: impl Fn(MemoryKey, MemoryKey) -> Option<f64>,
        stands: impl Fn(MemoryKey) -> bool,
    ) -> Vec<(MemoryKey, Option<MemoryKey>)> {
        if let Some(followed) = &mut self.followed {
            return followed.take_moved();
        }
        for target in self.by_hand.settle(stands) {
            self.merges.keep(target, self.by_hand.is_target(target));
        }
        let moved = self.merges.settle(similarity);
        let moved = self.by_hand.combine(&self.merges, moved);
        for (key, _) in &moved {
            self.touched.insert(*key);
            self.rank(*key);
        }
        moved
    }

    /// Decides about all memories, by what the runs say about each and by all runs.
    pub(crate) fn settle(&mut self, credit: &Credit) {
        self.find_harm(credit);
        for key in std::mem::take(&mut self.touched) {
            let unknown = Known::default();
            let known = self.known.get(&key).unwrap_or(&unknown);
            let decision = self.decide(key, known, credit);
            if decision.hidden_as == known.hidden_as && decision.merged_into == known.merged_into {
                self.due.remove(&key);
            } else {
                self.due.insert(key, decision);
            }
        }
    }

    /// The decisions that differ from the stored ones, by key.
    pub(crate) fn decisions(&self) -> Vec<HygieneDecision> {
        self.due.values().cloned().collect()
    }

    /// The memory used, approximately.
    pub(crate) fn bytes(&self) -> usize {
        let known = self.known.capacity() * (size_of::<(MemoryKey, Known)>() + 1);
        let followed = self.followed.as_ref().map_or(0, Followed::bytes);
        known + self.cap.bytes() + self.merges.bytes() + followed
    }

    fn decide(&self, key: MemoryKey, known: &Known, credit: &Credit) -> HygieneDecision {
        let merged_into = self.merged_into(key);
        let harm = |is_harmful| harm::reason(credit.account(key).as_ref(), is_harmful);
        let (hidden_as, reason) = if merged_into.is_some() {
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
            let reason = match known.hidden_as {
                Some(MemoryStatus::Archived) => "there is room for it again".to_owned(),
                Some(MemoryStatus::Staged) => "the project asks for no approval".to_owned(),
                Some(MemoryStatus::Merged) => "no other memory stands for it any more".to_owned(),
                _ => harm(false),
            };
            (None, reason)
        };
        HygieneDecision {
            key,
            hidden_as,
            merged_into,
            reason,
        }
    }

    /// What decides whether a memory repeats another one.
    fn wording(&self, memory: &Facts<'_>) -> Option<Wording> {
        let mut kind = serde_json::to_vec(memory.metadata).ok()?;
        kind.push(u8::from(memory.passed));
        Some(Wording {
            task: memory.task?,
            text: memory.text?,
            kind: self.hash.of(&kind),
            vector: memory.vector,
            may_be_merged: memory.uses_at_restore.is_none(),
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
                harm::is_evident(&account, all, known.uses, known.uses_at_restore)
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
                let is_restored = known.uses_at_restore.is_some();
                self.cap.put(key, known.q, is_restored, &mut self.touched);
            }
            _ => self.cap.remove(key, &mut self.touched),
        }
    }

    /// Whether a memory is out of answers for another reason than the cap.
    fn is_out(&self, key: MemoryKey) -> bool {
        self.harmful.contains(&key) || self.merged_into(key).is_some()
    }

    /// The memory that stands for this one.
    fn merged_into(&self, key: MemoryKey) -> Option<MemoryKey> {
        self.by_hand.standing_for(key, &self.merges)
    }
}
