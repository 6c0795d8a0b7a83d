//! Queries of a project that wait for a pass over its codes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use arc_swap::ArcSwap;
use tokio::sync::{Semaphore, oneshot};

use super::Shortlist;
use super::published::{Asked, Published};
use crate::error::{Error, Result};
use crate::task::compute;

/// The most queries that a pass answers: more would wait longer for each other than a pass of their own takes.
const MOST: usize = 16;

/// The queries of a project that wait, and the passes that may begin.
pub(super) struct Queue {
    published: Arc<ArcSwap<Published>>,
    waiting: Mutex<VecDeque<Waiter>>,
    passes: Arc<Semaphore>,
}

struct Waiter {
    asked: Asked,
    answer: oneshot::Sender<Shortlist>,
}

impl Queue {
    /// A queue for passes over what is published.
    pub(super) fn new(published: Arc<ArcSwap<Published>>) -> Self {
        // The other half of the processors has the rest of a query's work.
        let passes = available_parallelism().map_or(1, |all| all.get().div_ceil(2));
        Self {
            published,
            waiting: Mutex::default(),
            passes: Arc::new(Semaphore::new(passes)),
        }
    }

    /// Waits for the pass that answers the query. Whoever is first when a pass may begin runs it, for all who wait by
    /// then.
    pub(super) async fn answer(self: &Arc<Self>, asked: Asked) -> Result<Shortlist> {
        let (sender, mut answer) = oneshot::channel();
        self.waiting().push_back(Waiter {
            asked,
            answer: sender,
        });
        loop {
            let pass = tokio::select! {
                biased;
                answer = &mut answer => return answer.map_err(interrupted),
                pass = Arc::clone(&self.passes).acquire_owned() => pass.map_err(interrupted)?,
            };
            let queue = Arc::clone(self);
            compute(move || {
                queue.run();
                // A caller that goes away ends no pass, and keeps none from beginning.
                drop(pass);
            })
            .await?;
        }
    }

    /// Answers the queries that have waited longest.
    fn run(&self) {
        let mut waiters = Vec::new();
        {
            let mut waiting = self.waiting();
            while waiters.len() < MOST
                && let Some(waiter) = waiting.pop_front()
            {
                if !waiter.answer.is_closed() {
                    waiters.push(waiter);
                }
            }
        }
        let asked: Vec<_> = waiters.iter().map(|waiter| &waiter.asked).collect();
        let shortlists = self.published.load().shortlists(&asked);
        for (waiter, shortlist) in waiters.into_iter().zip(shortlists) {
            // The caller may have gone.
            let _ = waiter.answer.send(shortlist);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiter>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn interrupted<E>(_: E) -> Error {
    Error::unavailable("a pass over the index ended early: try again")
}
