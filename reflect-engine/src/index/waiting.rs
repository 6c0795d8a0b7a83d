//! Queries of a project that wait for a pass over its codes.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use reflect_types::{QueryMemories, Ranking};
use tokio::sync::{Semaphore, oneshot};

use super::Shortlist;
use super::project::ProjectIndex;
use crate::error::{Error, Result};
use crate::rank::Floor;
use crate::task::compute;

/// The most queries that a pass answers: more would wait longer for each other than a pass of their own takes.
const MOST: usize = 16;

/// A query, with the defaults of what it leaves open.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) probe: Vec<f32>,
    pub(crate) query: QueryMemories,
    pub(crate) ranking: Ranking,
    pub(crate) floor: Floor,
}

/// The queries that wait, and the passes that may begin.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<VecDeque<Waiter>>,
    passes: Arc<Semaphore>,
}

#[derive(Debug)]
struct Waiter {
    asked: Asked,
    answer: oneshot::Sender<Shortlist>,
}

impl Default for Queue {
    fn default() -> Self {
        // The other half of the processors has the rest of a query's work.
        let passes = available_parallelism().map_or(1, |all| all.get().div_ceil(2));
        Self {
            waiting: Mutex::default(),
            passes: Arc::new(Semaphore::new(passes)),
        }
    }
}

impl Queue {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiter>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the pass that answers the query. Whoever is first when a pass may begin runs it, for all who wait by then.
pub(super) async fn answer(index: &Arc<ProjectIndex>, asked: Asked) -> Result<Shortlist> {
    let queue = &index.queue;
    let (sender, mut answer) = oneshot::channel();
    queue.waiting().push_back(Waiter {
        asked,
        answer: sender,
    });
    loop {
        let pass = tokio::select! {
            biased;
            answer = &mut answer => return answer.map_err(interrupted),
            pass = Arc::clone(&queue.passes).acquire_owned() => pass.map_err(interrupted)?,
        };
        let index = Arc::clone(index);
        compute(move || {
            run(&index);
            // A caller that goes away ends no pass, and keeps none from beginning.
            drop(pass);
        })
        .await?;
    }
}

/// Answers the queries that have waited longest.
fn run(index: &ProjectIndex) {
    let mut waiters = Vec::new();
    {
        let mut waiting = index.queue.waiting();
        while waiters.len() < MOST
            && let Some(waiter) = waiting.pop_front()
        {
            if !waiter.answer.is_closed() {
                waiters.push(waiter);
            }
        }
    }
    let asked: Vec<_> = waiters.iter().map(|waiter| &waiter.asked).collect();
    let shortlists = index.published().shortlists(&asked);
    for (waiter, shortlist) in waiters.into_iter().zip(shortlists) {
        // The caller may have gone.
        let _ = waiter.answer.send(shortlist);
    }
}

fn interrupted<E>(_: E) -> Error {
    Error::unavailable("a pass over the index ended early: try again")
}
