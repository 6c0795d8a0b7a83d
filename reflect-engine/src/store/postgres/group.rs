//! Writes that share a transaction.
//!
//! A commit waits for the disk, and a lock for the commit of its holder. While a transaction runs, the writes
//! that arrive wait; the next one takes them together.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use reflect_types::ProjectId;
use tokio::sync::{Semaphore, oneshot};

/// The most writes in a transaction.
const MOST: usize = 64;

/// Writes that wait for a transaction, and its answers to them.
pub(super) struct Group<W, A> {
    waiting: Mutex<Vec<Waiting<W, A>>>,
    /// One for each transaction that may run at a time.
    turns: Arc<Semaphore>,
}

struct Waiting<W, A> {
    write: W,
    answer: oneshot::Sender<A>,
}

impl<W: Send + 'static, A: Send + 'static> Group<W, A> {
    /// Runs up to this many transactions at a time.
    pub(super) fn new(turns: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            turns: Arc::new(Semaphore::new(turns)),
        }
    }

    /// Makes a write wait for a transaction with others, until nobody waits for its answer.
    pub(super) fn enqueue(&self, write: W) -> oneshot::Receiver<A> {
        let (answer, answered) = oneshot::channel();
        self.waiting().push(Waiting { write, answer });
        answered
    }

    /// The answer to a write that waits; `None` if its transaction failed, with nothing written: it may succeed alone.
    ///
    /// `together` runs a transaction, in a task of its own: a caller that goes away does not end it.
    pub(super) async fn answer<F>(
        &self,
        mut answered: oneshot::Receiver<A>,
        together: impl Fn(Vec<W>) -> F,
    ) -> Option<A>
    where
        F: Future<Output = Option<Vec<A>>> + Send + 'static,
    {
        loop {
            let turn = tokio::select! {
                biased;
                answer = &mut answered => return answer.ok(),
                turn = Arc::clone(&self.turns).acquire_owned() => turn.ok()?,
            };
            let (writes, answers) = self.take();
            if writes.is_empty() {
                // A transaction that runs has this write.
                drop(turn);
                return answered.await.ok();
            }
            let together = together(writes);
            tokio::spawn(async move {
                let done = together.await;
                drop(turn);
                for (answer, done) in answers.into_iter().zip(done.into_iter().flatten()) {
                    // One whose caller has gone needs none.
                    let _ = answer.send(done);
                }
            });
            // More than fit may have been older: then the next turn is for this write too.
        }
    }

    /// The oldest writes whose callers still wait.
    fn take(&self) -> (Vec<W>, Vec<oneshot::Sender<A>>) {
        let mut waiting = self.waiting();
        waiting.retain(|one| !one.answer.is_closed());
        let count = waiting.len().min(MOST);
        let taken = waiting.drain(..count);
        taken.map(|one| (one.write, one.answer)).unzip()
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Waiting<W, A>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A group for each project, while it has writes.
pub(super) struct Groups<W, A> {
    projects: Mutex<HashMap<ProjectId, Weak<Group<W, A>>>>,
    turns: usize,
}

impl<W: Send + 'static, A: Send + 'static> Groups<W, A> {
    /// Runs up to this many transactions of a project at a time.
    pub(super) fn new(turns: usize) -> Self {
        Self {
            projects: Mutex::default(),
            turns,
        }
    }

    /// The group of a project.
    pub(super) fn of(&self, project: &ProjectId) -> Arc<Group<W, A>> {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(group) = projects.get(project).and_then(Weak::upgrade) {
            return group;
        }
        projects.retain(|_, group| group.strong_count() > 0);
        let group = Arc::new(Group::new(self.turns));
        projects.insert(project.clone(), Arc::downgrade(&group));
        group
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl<W: Send + 'static, A: Send + 'static> Group<W, A> {
        async fn write<F>(&self, write: W, together: impl Fn(Vec<W>) -> F) -> Option<A>
        where
            F: Future<Output = Option<Vec<A>>> + Send + 'static,
        {
            self.answer(self.enqueue(write), together).await
        }
    }

    #[tokio::test]
    async fn writes_that_wait_before_the_first_turn_share_its_transaction() {
        let group = Group::<usize, usize>::new(4);
        let waiting: Vec<_> = (0..MOST).map(|write| group.enqueue(write)).collect();
        let together = |writes: Vec<usize>| async move {
            assert_eq!(writes.len(), MOST);
            Some(writes)
        };
        for (write, answered) in waiting.into_iter().enumerate() {
            assert_eq!(group.answer(answered, together).await, Some(write));
        }
    }

    #[tokio::test]
    async fn writes_that_wait_for_a_turn_share_the_next_transaction() {
        let group = Arc::new(Group::<usize, usize>::new(1));
        let first = Arc::clone(&group.turns).acquire_owned().await.unwrap();
        let sizes = Arc::new(Mutex::new(Vec::new()));
        let writes = (0..100).map(|write| {
            let (group, sizes) = (Arc::clone(&group), Arc::clone(&sizes));
            tokio::spawn(async move {
                let together = |writes: Vec<usize>| {
                    sizes.lock().unwrap().push(writes.len());
                    async { Some(writes.into_iter().map(|write| write * 2).collect()) }
                };
                group.write(write, together).await
            })
        });
        let writes: Vec<_> = writes.collect();
        while group.waiting().len() < 100 {
            tokio::task::yield_now().await;
        }
        drop(first);
        for (write, answer) in writes.into_iter().enumerate() {
            assert_eq!(answer.await.unwrap(), Some(write * 2));
        }
        assert_eq!(*sizes.lock().unwrap(), [64, 36]);
    }

    #[tokio::test]
    async fn a_failed_transaction_leaves_its_writes_to_their_callers() {
        let group = Group::<usize, usize>::new(1);
        assert_eq!(group.write(1, |_| async { None }).await, None);
        assert_eq!(
            group.write(2, |writes| async { Some(writes) }).await,
            Some(2)
        );
    }

    /// Puts a write into the queue, whose caller goes away.
    async fn abandon(group: &Group<usize, usize>, write: usize) {
        let mut gone = Box::pin(group.write(write, |_| async { None }));
        std::future::poll_fn(|cx| {
            let _ = gone.as_mut().poll(cx);
            std::task::Poll::Ready(())
        })
        .await;
    }

    #[tokio::test]
    async fn writes_whose_callers_have_gone_are_left_out() {
        let group = Group::<usize, usize>::new(1);
        let turn = Arc::clone(&group.turns).acquire_owned().await.unwrap();
        for write in 0..2 * MOST {
            abandon(&group, write).await;
        }
        drop(turn);
        let alone = |writes: Vec<usize>| async move {
            assert_eq!(writes, [7]);
            Some(writes)
        };
        assert_eq!(group.write(7, alone).await, Some(7));
    }

    #[tokio::test]
    async fn a_caller_that_has_a_turn_before_older_writes_takes_turns_until_its_own_is_taken() {
        let group = Group::<usize, usize>::new(1);
        let older: Vec<_> = (0..MOST)
            .map(|write| {
                let (answer, answered) = oneshot::channel();
                group.waiting().push(Waiting { write, answer });
                answered
            })
            .collect();
        let write = group.write(MOST, |writes| async { Some(writes) });
        assert_eq!(write.await, Some(MOST));
        for (write, answer) in older.into_iter().enumerate() {
            assert_eq!(answer.await, Ok(write));
        }
    }
}
