//! Re-embedding: memories that others learned with another embedder get vectors of this engine's.
//!
//! The store knows which memories are left, so a job is one batch, and queued while there is one.
//! Queries use what is done.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reflect_types::Backoff;

use super::embedders;
use super::lease::LeasedJob;
use super::worker::Work;
use crate::clock::later;
use crate::core::Core;
use crate::error::Result;
use crate::id::new_id;
use crate::model;
use crate::review::{NextAttempt, Setback};
use crate::store::{Claims, JobKind, Lease, ProjectRow, Subject, UnembeddedMemory, VectorSpace};
use crate::task::isolate;

/// The number of memories embedded in one job.
const BATCH: usize = 128;

/// How soon memories that others learn get a vector.
const SHORTEST_PAUSE: Duration = Duration::from_secs(2);

const RETRY: Backoff = Backoff {
    initial: Duration::from_secs(30),
    factor: 2,
    cap: Duration::from_secs(300),
    jitter: 0.5,
};

/// The work on memories of other embedders.
pub(super) struct ReembeddingWork {
    core: Arc<Core>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether this engine has queued the work before. The first time ends the back-off of an earlier
    /// process, whose embedder may have been another.
    queued: bool,
    /// The memory up to which the current pass has found nothing left: a long pass does not read again what it has done.
    cursor: ProjectRow,
    /// Whether a pass has ended. From then on, memories lack a vector only if other embedders are in use.
    looked: bool,
    /// The number of memories embedded since there was last nothing to do.
    done: u64,
    /// How long to wait for the next look.
    pause: Option<Duration>,
}

impl ReembeddingWork {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::clone(core),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a memory lacks a vector. At the end of a pass, another one begins: a task may have changed behind it.
    async fn is_lacking(&self, space: &VectorSpace) -> Result<bool> {
        let store = &self.core.store;
        let after = self.state().cursor;
        if after != ProjectRow::default() {
            if !store.unembedded(space, after, 1).await?.is_empty() {
                return Ok(true);
            }
            self.state().cursor = ProjectRow::default();
        }
        let is_lacking = !store
            .unembedded(space, ProjectRow::default(), 1)
            .await?
            .is_empty();
        let lacking = if is_lacking {
            store.count_unembedded(space, None).await?
        } else {
            0
        };
        self.core.embedding().lacking = lacking;
        Ok(is_lacking)
    }
}

impl Work for ReembeddingWork {
    const KIND: JobKind = JobKind::Reembedding;
    const POLL: Duration = Duration::from_secs(30);
    const MODEL: &str = "the embedder";

    fn concurrency(&self) -> usize {
        1
    }

    fn poll(&self) -> Duration {
        self.state().pause.unwrap_or(Self::POLL)
    }

    async fn queued(&self) {
        std::future::pending::<()>().await;
    }

    async fn prepare(&self) -> Result<Option<Timestamp>> {
        let core = &self.core;
        let known = embedders::announce(core).await?;
        let may_lack = known.has_others() || !self.state().looked;
        let begun = Instant::now();
        let is_lacking = may_lack && self.is_lacking(&known.own).await?;
        // While other embedders are in use, looks often, but spends little of the time with it.
        let pause = (begun.elapsed() * 20).clamp(SHORTEST_PAUSE, Self::POLL);
        self.state().pause = known.has_others().then_some(pause);
        if is_lacking {
            let restart = !self.state().queued;
            let embedder = core.embedder.id();
            let queued = core.store.queue_reembedding(embedder, core.now(), restart);
            queued.await?;
            self.state().queued = true;
            return Ok(None);
        }
        let done = {
            let mut state = self.state();
            state.looked = true;
            std::mem::take(&mut state.done)
        };
        if done > 0 {
            let embedder = core.embedder.id();
            tracing::info!(done, embedder, "all memories are embedded");
        }
        known.complete(core).await?;
        Ok(None)
    }

    async fn claim(&self, core: &Core, lease: &Lease, limit: usize) -> Result<Claims> {
        if limit == 0 {
            return Ok(Claims::default());
        }
        let (embedder, now) = (core.embedder.id(), core.now());
        core.store.claim_reembedding(embedder, now, lease).await
    }

    async fn run(self: Arc<Self>, job: LeasedJob, _subject: Subject) {
        let (work, failed) = (Arc::clone(&self), job.attempts > 1);
        let mut stopping = self.core.stopping.subscribe();
        let batch = tokio::select! {
            // A batch that is cut short is handed back, and embedded at the next start.
            _ = stopping.wait_for(|stop| *stop) => return,
            batch = job.keep_during(async move { work.batch(failed).await }) => batch,
        };
        match batch.map(Result::flatten) {
            // Another worker has taken the job over.
            None => {}
            Some(Ok(batch)) => {
                self.state().done += batch.embedded;
                {
                    let mut embedding = self.core.embedding();
                    embedding.lacking = embedding.lacking.saturating_sub(batch.embedded);
                }
                if batch.is_complete {
                    return job.finish().await;
                }
                // Not an attempt, and not the end: a job that has failed before is still taken for one
                // by the next batch, which may have the same faulty memory.
                job.fail(Setback {
                    error: String::new(),
                    next: NextAttempt::At(self.core.now()),
                    counts: false,
                })
                .await;
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "could not re-embed memories: trying again");
                let delay = RETRY.delay_or(job.attempts, fastrand::f64(), error.retry_after());
                job.fail(Setback {
                    error: error.to_string(),
                    next: NextAttempt::At(later(self.core.now(), delay)),
                    counts: true,
                })
                .await;
            }
        }
    }
}

/// What one batch did.
struct Batch {
    /// The number of memories that got a vector.
    embedded: u64,
    /// Whether all of the batch did.
    is_complete: bool,
}

impl ReembeddingWork {
    async fn batch(&self, failed: bool) -> Result<Batch> {
        let core = &self.core;
        let after = self.state().cursor;
        let lacking = core.store.unembedded(&core.space(), after, BATCH).await?;
        if lacking.is_empty() {
            return Ok(Batch {
                embedded: 0,
                is_complete: true,
            });
        }
        let vectors = embed(core, lacking.clone(), failed).await?;
        let is_complete = vectors.iter().all(Option::is_some);
        let last = lacking.last().map(UnembeddedMemory::row);
        let done = lacking.into_iter().zip(vectors);
        let done: Vec<_> = done
            .filter_map(|(memory, vector)| Some((memory, vector?)))
            .collect();
        let embedded = done.len() as u64;
        core.store
            .set_vectors(&core.space(), done, core.now())
            .await?;
        if let Some(last) = last.filter(|_| is_complete) {
            self.state().cursor = last;
        }
        Ok(Batch {
            embedded,
            is_complete,
        })
    }
}

/// Embeds the memories together, or one by one if one of them may be at fault: a retryable failure
/// suggests that only if the batch `failed` before.
async fn embed(
    core: &Arc<Core>,
    lacking: Vec<UnembeddedMemory>,
    failed: bool,
) -> Result<Vec<Option<Vec<f32>>>> {
    let core = Arc::clone(core);
    isolate("the embedder", async move {
        let texts: Vec<&str> = lacking.iter().map(|memory| memory.task.as_str()).collect();
        match core.embed(&texts).await {
            Ok(vectors) => Ok(vectors.into_iter().map(Some).collect()),
            Err(error) if model::is_setup(&error) || (error.retryable && !failed) => Err(error),
            Err(_) => one_by_one(&core, &texts).await,
        }
    })
    .await
}

/// Embeds texts until the embedder itself fails. A revoked key or a wrong setting must not pass for
/// a text that cannot be embedded, because the memory would not be found.
async fn one_by_one(core: &Core, texts: &[&str]) -> Result<Vec<Option<Vec<f32>>>, model::Error> {
    let mut vectors = Vec::with_capacity(texts.len());
    let mut failure = None;
    for text in texts {
        let error = match core.embed_one(text).await {
            Ok(vector) => {
                vectors.push(Some(vector));
                continue;
            }
            Err(error) => error,
        };
        if model::is_setup(&error) || !works(core).await {
            failure = Some(error);
            break;
        }
        if error.retryable {
            tracing::warn!(%error, "a memory's task cannot be embedded for now");
            vectors.push(None);
            failure = Some(error);
        } else {
            tracing::warn!(%error, "a memory's task cannot be embedded: it will not be found");
            vectors.push(Some(vec![0.0; core.embedder.dims()]));
        }
    }
    match failure {
        Some(error) if vectors.iter().all(Option::is_none) => Err(error),
        _ => Ok(vectors),
    }
}

/// Whether the embedder works on a plain text that no cache holds.
async fn works(core: &Core) -> bool {
    let text = format!("Refund order {}", new_id());
    core.embed_one(&text).await.is_ok()
}
