//! The settings of projects. Every reviewed run asks for them, and many runs come together, so calls share reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reflect_types::{ProjectId, ProjectSettings};
use tokio::sync::oneshot;

use crate::error::Result;

/// The calls that wait for the next read, by project. A project is in it while it is read.
type Waiting = HashMap<ProjectId, Vec<oneshot::Sender<ProjectSettings>>>;

/// The reads in progress.
#[derive(Clone, Debug, Default)]
pub(crate) struct SettingsReads {
    waiting: Arc<Mutex<Waiting>>,
}

impl SettingsReads {
    /// The settings of a project, from a read that began after the call. Calls that wait while another read is in
    /// progress share the next one.
    pub(crate) async fn get<R, F>(&self, project: &ProjectId, read: R) -> Result<ProjectSettings>
    where
        R: Fn() -> F + Clone + Send + 'static,
        F: Future<Output = Result<ProjectSettings>> + Send + 'static,
    {
        if let Ok(settings) = self.join(project, &read).await {
            return Ok(settings);
        }
        // The shared read has failed, and each call gets an error of its own.
        read().await
    }

    /// Waits for the next read. It is done in a task, because whoever asked first may no longer be polled.
    fn join<R, F>(&self, project: &ProjectId, read: &R) -> oneshot::Receiver<ProjectSettings>
    where
        R: Fn() -> F + Clone + Send + 'static,
        F: Future<Output = Result<ProjectSettings>> + Send + 'static,
    {
        let (waiter, answer) = oneshot::channel();
        let is_first = {
            let mut waiting = self.waiting();
            let is_first = !waiting.contains_key(project);
            waiting.entry(project.clone()).or_default().push(waiter);
            is_first
        };
        if is_first {
            let reads = Reads {
                all: self.clone(),
                project: project.clone(),
            };
            tokio::spawn(reads.run(read.clone()));
        }
        answer
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reads of a project, one after the other while calls wait for them.
struct Reads {
    all: SettingsReads,
    project: ProjectId,
}

impl Reads {
    async fn run<F>(self, read: impl Fn() -> F)
    where
        F: Future<Output = Result<ProjectSettings>>,
    {
        loop {
            let waiters = self.next();
            if waiters.is_empty() {
                return;
            }
            if let Ok(settings) = read().await {
                for waiter in waiters {
                    // It fails if the call was given up.
                    let _ = waiter.send(settings.clone());
                }
            }
        }
    }

    /// The calls that the next read is for.
    fn next(&self) -> Vec<oneshot::Sender<ProjectSettings>> {
        let mut waiting = self.all.waiting();
        waiting
            .get_mut(&self.project)
            .map_or_else(Vec::new, std::mem::take)
    }
}

impl Drop for Reads {
    /// Whoever still waits, after a panic or between the last look and now, reads for itself.
    fn drop(&mut self) {
        self.all.waiting().remove(&self.project);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::future::join_all;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::error::Error;

    /// A store whose reads are let through one by one. The settings tell in which read they were found.
    struct Source {
        reads: SettingsReads,
        begun: Arc<AtomicU32>,
        may_end: Arc<Semaphore>,
    }

    impl Source {
        fn new() -> Self {
            Self {
                reads: SettingsReads::default(),
                begun: Arc::default(),
                may_end: Arc::new(Semaphore::new(0)),
            }
        }

        async fn get(&self, fails: impl Fn(u32) -> bool + Clone + Send + 'static) -> Result<u32> {
            let (begun, may_end) = (Arc::clone(&self.begun), Arc::clone(&self.may_end));
            let read = move || {
                let read = begun.fetch_add(1, Ordering::Relaxed) + 1;
                let (may_end, fails) = (Arc::clone(&may_end), fails.clone());
                async move {
                    may_end.acquire().await.unwrap().forget();
                    if fails(read) {
                        return Err(Error::unavailable("away"));
                    }
                    Ok(ProjectSettings {
                        max_memories: Some(read.into()),
                        ..ProjectSettings::default()
                    })
                }
            };
            let settings = self.reads.get(&ProjectId::from("p"), read).await?;
            Ok(u32::try_from(settings.max_memories.unwrap()).unwrap())
        }

        /// Returns when this many reads have begun.
        async fn begun(&self, count: u32) {
            while self.begun.load(Ordering::Relaxed) < count {
                tokio::task::yield_now().await;
            }
        }

        async fn ended(&self) {
            while !self.reads.waiting().is_empty() {
                tokio::task::yield_now().await;
            }
        }
    }

    #[tokio::test]
    async fn calls_that_wait_share_a_read_that_began_after_them() {
        let source = Source::new();
        let first = source.get(|_| false);
        let later = async {
            source.begun(1).await;
            let calls = join_all((0..9).map(|_| source.get(|_| false)));
            let let_through = async {
                source.may_end.add_permits(1);
                source.begun(2).await;
                source.may_end.add_permits(1);
            };
            tokio::join!(calls, let_through).0
        };
        let (first, later) = tokio::join!(first, later);
        assert_eq!(first.unwrap(), 1);
        let later: Vec<_> = later.into_iter().map(Result::unwrap).collect();
        assert_eq!(later, [2; 9]);
        source.ended().await;
        source.may_end.add_permits(1);
        assert_eq!(source.get(|_| false).await.unwrap(), 3);
        source.ended().await;
    }

    #[tokio::test]
    async fn each_call_of_a_failed_read_reads_for_itself() {
        let source = Source::new();
        source.may_end.add_permits(9);
        let calls = (0..3).map(|_| source.get(|read| read % 2 == 1));
        let found = join_all(calls).await;
        let found: Vec<_> = found.into_iter().map(Result::ok).collect();
        assert_eq!(found, [Some(2), None, Some(4)]);
        source.ended().await;
    }

    #[tokio::test]
    async fn a_call_that_is_no_longer_polled_blocks_no_other() {
        let source = Source::new();
        let mut forgotten = Box::pin(source.get(|_| false));
        tokio::select! {
            biased;
            _ = &mut forgotten => unreachable!("it may not end yet"),
            () = source.begun(1) => {}
        }
        source.may_end.add_permits(2);
        assert_eq!(source.get(|_| false).await.unwrap(), 2);
        assert_eq!(forgotten.await.unwrap(), 1);
    }
}
