//! The index of one project: what queries read, and what learns.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use arc_swap::{ArcSwap, Guard};
use reflect_types::Ranking;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::published::{Asked, Published};
use super::state::State;
use super::waiting::Queue;
use super::{Error as Refused, Shortlist};
use crate::error::{Error, Result};
use crate::learn::Account;
use crate::rank::Learned;
use crate::store::{Hiding, MemoryChanges, MemoryKey, RecallSettings, Revision};

/// The index of one project, and how far it has followed the store.
pub(crate) struct ProjectIndex {
    /// The number of its last use.
    pub(super) used: AtomicU64,
    pub(super) dims: usize,
    published: Arc<ArcSwap<Published>>,
    /// Whoever has it catches up with the store, once for all queries. Nothing else waits for it.
    state: Arc<Mutex<State>>,
    queue: Arc<Queue>,
    /// What a test does before anything is learned.
    #[cfg(test)]
    pub(crate) before_learning: std::sync::Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl ProjectIndex {
    pub(super) fn new(dims: usize) -> Self {
        let state = State::new(dims, RecallSettings::default());
        let published = Arc::new(ArcSwap::from_pointee(Published::of(&state)));
        Self {
            used: AtomicU64::new(0),
            dims,
            queue: Arc::new(Queue::new(Arc::clone(&published))),
            published,
            state: Arc::new(Mutex::new(state)),
            #[cfg(test)]
            before_learning: std::sync::Mutex::default(),
        }
    }

    /// The store's revision that answers reflect.
    pub(crate) fn revision(&self) -> Revision {
        self.published().revision
    }

    /// Whether answers follow these settings of the project.
    pub(crate) fn has_settings(&self, settings: &RecallSettings) -> bool {
        self.published().settings == *settings
    }

    /// How memories are ranked unless a query says otherwise.
    pub(crate) fn ranking(&self) -> Option<Ranking> {
        self.published().settings.ranking.clone()
    }

    /// Whether something has to be learned although the store has nothing new, and nobody is at it.
    pub(crate) fn is_due(&self) -> bool {
        let learning = || {
            self.state
                .try_lock()
                .is_ok_and(|state| state.credit.is_due())
        };
        !self.published().is_settled && learning()
    }

    /// The memories that may rank among the best, by the next pass over the codes.
    pub(crate) async fn shortlist(self: &Arc<Self>, asked: Asked) -> Result<Shortlist> {
        let refused = |error: Refused| Error::internal("the index refused the query", error);
        self.published().check(&asked.probe).map_err(refused)?;
        self.queue.answer(asked).await
    }

    /// Waits until nobody else catches up with the store.
    pub(crate) async fn turn(self: &Arc<Self>) -> Turn {
        Turn {
            state: Arc::clone(&self.state).lock_owned().await,
            index: Arc::clone(self),
        }
    }

    pub(super) fn published(&self) -> Guard<Arc<Published>> {
        self.published.load()
    }

    pub(super) fn bytes(&self) -> usize {
        self.published().bytes
    }
}

/// Catches up with the store. Its work is for threads that may be busy for long.
pub(crate) struct Turn {
    state: OwnedMutexGuard<State>,
    index: Arc<ProjectIndex>,
}

impl Turn {
    /// The store's revision that was applied last.
    pub(crate) fn revision(&self) -> Revision {
        self.state.revision
    }

    pub(crate) fn has_settings(&self, settings: &RecallSettings) -> bool {
        self.state.settings == *settings
    }

    /// Whether there is nothing to do, given what the store has new.
    pub(crate) fn is_up_to_date(&self, news: &MemoryChanges) -> bool {
        let is_applied = !news.reset && news.changes.is_empty();
        is_applied && news.revision == self.state.revision && !self.state.credit.is_due()
    }

    /// Forgets everything, because the project has other settings.
    pub(crate) fn start_over(&mut self, settings: RecallSettings) {
        *self.state = State::new(self.index.dims, settings);
    }

    /// Applies changes read from the store. After the last ones it learns from all, and publishes what it knows.
    pub(crate) fn apply(&mut self, changes: MemoryChanges) {
        let state = &mut *self.state;
        if changes.reset {
            *state = State::new(self.index.dims, state.settings.clone());
        }
        for change in changes.changes {
            state.apply(change);
        }
        if !changes.more {
            #[cfg(test)]
            self.index.wait_for_test();
            state.settle();
        }
        state.revision = changes.revision;
        if !changes.more {
            self.index.published.store(Arc::new(Published::of(state)));
        }
    }

    /// The decisions about memories that the store does not have yet.
    pub(crate) fn decisions(&self) -> Vec<Hiding> {
        let decisions = self.state.upkeep.decisions().into_iter();
        let stored = decisions.map(|decision| Hiding {
            key: decision.key,
            status: decision.hidden_as,
            merged_into: decision.merged_into,
            reason: decision.reason,
        });
        stored.collect()
    }

    /// What was learned about all memories.
    pub(crate) fn learned(&self) -> (Learned, HashMap<MemoryKey, Account>) {
        let credit = &self.state.credit;
        (Learned::from(credit), credit.accounts())
    }

    /// What was learned about these memories.
    pub(crate) fn learned_of(&self, keys: &[MemoryKey]) -> (Learned, HashMap<MemoryKey, Account>) {
        let credit = &self.state.credit;
        let account = |key: &MemoryKey| Some((*key, credit.account(*key)?));
        let accounts = keys.iter().filter_map(account).collect();
        (Learned::from(credit), accounts)
    }
}

#[cfg(test)]
impl ProjectIndex {
    fn wait_for_test(&self) {
        let wait = self.before_learning.lock().unwrap().take();
        if let Some(wait) = wait {
            wait();
        }
    }
}
