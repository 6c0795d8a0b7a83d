//! The settings of projects. Every reviewed run asks for them, and many runs come together, so calls share reads.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reflect_types::{ProjectId, ProjectSettings};

use crate::error::Result;

/// The reads in progress.
#[derive(Debug, Default)]
pub(crate) struct SettingsReads {
    projects: Mutex<HashMap<ProjectId, Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    calls: usize,
    reads: Arc<Reads>,
}

/// The reads of a project, one after the other.
#[derive(Debug, Default)]
struct Reads {
    /// The number of calls so far.
    calls: AtomicU64,
    last: tokio::sync::Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    /// The number of calls before it began.
    after: u64,
    /// `None` if it failed or was given up.
    settings: Option<ProjectSettings>,
}

impl SettingsReads {
    /// The settings of a project, read after the call began. Calls that wait while another one reads share the next
    /// read.
    pub(crate) async fn get<F>(
        &self,
        project: &ProjectId,
        read: impl Fn() -> F,
    ) -> Result<ProjectSettings>
    where
        F: Future<Output = Result<ProjectSettings>>,
    {
        let call = Call::new(self, project);
        let number = call.reads.calls.fetch_add(1, Ordering::Relaxed);
        let mut last = call.reads.last.lock().await;
        if number < last.after {
            if let Some(settings) = &last.settings {
                return Ok(settings.clone());
            }
            // Each call gets an error of its own, without waiting for the others.
            drop(last);
            return read().await;
        }
        *last = Read {
            after: call.reads.calls.load(Ordering::Relaxed),
            settings: None,
        };
        let settings = read().await?;
        last.settings = Some(settings.clone());
        Ok(settings)
    }

    fn projects(&self) -> MutexGuard<'_, HashMap<ProjectId, Waiting>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call in progress. A project is forgotten with its last one.
struct Call<'a> {
    all: &'a SettingsReads,
    project: &'a ProjectId,
    reads: Arc<Reads>,
}

impl<'a> Call<'a> {
    fn new(all: &'a SettingsReads, project: &'a ProjectId) -> Self {
        let mut projects = all.projects();
        let waiting = projects.entry(project.clone()).or_default();
        waiting.calls += 1;
        Self {
            all,
            project,
            reads: Arc::clone(&waiting.reads),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let mut projects = self.all.projects();
        if let Some(waiting) = projects.get_mut(self.project) {
            waiting.calls -= 1;
            if waiting.calls == 0 {
                projects.remove(self.project);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::future::join_all;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::error::Error;

    /// Settings that tell in which read they were found.
    fn of_read(read: u32) -> ProjectSettings {
        ProjectSettings {
            max_alpha: Some(f64::from(read)),
            ..ProjectSettings::default()
        }
    }

    #[tokio::test]
    async fn calls_that_wait_share_a_read_that_began_after_them() {
        let (reads, project) = (SettingsReads::default(), ProjectId::from("p"));
        let (begun, may_end) = (Cell::new(0), Semaphore::new(0));
        let get = || {
            reads.get(&project, || async {
                begun.set(begun.get() + 1);
                let found = of_read(begun.get());
                may_end.acquire().await.unwrap().forget();
                Ok(found)
            })
        };
        let calls = join_all((0..10).map(|_| get()));
        let ends = async {
            // All ten calls are waiting by now.
            may_end.add_permits(2);
        };
        let (found, ()) = tokio::join!(calls, ends);
        let found: Vec<_> = found.into_iter().map(Result::unwrap).collect();
        assert_eq!(found[0], of_read(1));
        assert_eq!(found[1..], vec![of_read(2); 9]);
        may_end.add_permits(1);
        assert_eq!(get().await.unwrap(), of_read(3));
        assert!(reads.projects().is_empty());
    }

    #[tokio::test]
    async fn a_failed_read_fails_no_other_call() {
        let (reads, project) = (SettingsReads::default(), ProjectId::from("p"));
        let (begun, may_end) = (Cell::new(0), Semaphore::new(0));
        let get = || {
            reads.get(&project, || async {
                begun.set(begun.get() + 1);
                let read = begun.get();
                may_end.acquire().await.unwrap().forget();
                match read {
                    2 => Err(Error::unavailable("away")),
                    _ => Ok(of_read(read)),
                }
            })
        };
        let ends = async { may_end.add_permits(4) };
        let (found, ()) = tokio::join!(join_all((0..4).map(|_| get())), ends);
        let failed: Vec<_> = found.iter().map(Result::is_err).collect();
        assert_eq!(failed, [false, true, false, false]);
        assert_eq!(begun.get(), 4);
        assert!(reads.projects().is_empty());
    }

    #[tokio::test]
    async fn a_read_that_is_given_up_blocks_no_other_call() {
        let (reads, project) = (SettingsReads::default(), ProjectId::from("p"));
        let never = reads.get(&project, std::future::pending);
        let next = reads.get(&project, || async { Ok(of_read(2)) });
        let given_up = async {
            tokio::select! {
                biased;
                _ = never => unreachable!("it never ends"),
                () = tokio::task::yield_now() => {}
            }
        };
        let ((), next) = tokio::join!(given_up, next);
        assert_eq!(next.unwrap(), of_read(2));
        assert!(reads.projects().is_empty());
    }
}
