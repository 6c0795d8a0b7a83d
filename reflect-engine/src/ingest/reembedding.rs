//! Re-embedding: memories of another embedder get vectors of this engine's.
//!
//! The store knows which memories are left, so a job is one batch, and queued while there is one.
//! Queries use what is done.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use reflect_types::Backoff;

use super::held::HeldJob;
use super::worker::Work;
use crate::clock::later;
use crate::core::Core;
use crate::error::Result;
use crate::id::new_id;
use crate::model;
use crate::review::{NextAttempt, Setback};
use crate::store::{JobKind, Subject, UnembeddedMemory};
use crate::task::isolate;

/// The number of memories embedded in one job.
const BATCH: usize = 128;

const RETRY: Backoff = Backoff {
    initial: Duration::from_secs(30),
    factor: 2,
    cap: Duration::from_secs(300),
    jitter: 0.5,
};

/// The work on memories of another embedder.
pub(super) struct ReembeddingWork {
    core: Arc<Core>,
    /// Whether another engine has changed the store's embedder.
    retired: AtomicBool,
    /// Whether this engine has queued the work before. The first time ends the back-off of an earlier
    /// process, whose embedder may have been another.
    queued: AtomicBool,
    /// The number of memories embedded since there was last nothing to do.
    done: AtomicUsize,
}

impl ReembeddingWork {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::clone(core),
            retired: AtomicBool::new(false),
            queued: AtomicBool::new(false),
            done: AtomicUsize::new(0),
        }
    }
}

impl Work for ReembeddingWork {
    const KIND: JobKind = JobKind::Reembedding;
    const POLL: Duration = Duration::from_secs(30);
    const MODEL: &str = "the embedder";

    fn concurrency(&self) -> usize {
        1
    }

    async fn queued(&self) {
        std::future::pending::<()>().await;
    }

    async fn prepare(&self) -> Result<Option<Timestamp>> {
        let core = &self.core;
        core.claim_embedder().await?;
        let current = core.store.embedder().await?;
        if core.ensure_same_embedder(current.as_deref()).is_err() {
            // Two engines would undo each other's work forever.
            if !self.retired.swap(true, Ordering::Relaxed) {
                let embedder = core.embedder.id();
                tracing::warn!(embedder, "another engine has changed the embedder");
            }
            return Ok(Some(Timestamp::MAX));
        }
        if stale(core, 1).await?.is_empty() {
            let done = self.done.swap(0, Ordering::Relaxed);
            if done > 0 {
                let embedder = core.embedder.id();
                tracing::info!(done, embedder, "all memories are re-embedded");
            }
        } else {
            let restart = !self.queued.load(Ordering::Relaxed);
            core.store.queue_reembedding(core.now(), restart).await?;
            self.queued.store(true, Ordering::Relaxed);
        }
        Ok(None)
    }

    async fn run(self: Arc<Self>, job: HeldJob, _subject: Subject) {
        let (core, failed) = (Arc::clone(&self.core), job.attempts > 1);
        let mut stopping = self.core.stopping.subscribe();
        let batch = tokio::select! {
            // A batch that is cut short is handed back, and embedded at the next start.
            _ = stopping.wait_for(|stop| *stop) => return,
            batch = job.keep_during(async move { batch(&core, failed).await }) => batch,
        };
        match batch.map(Result::flatten) {
            // Another worker has taken the job over.
            None => {}
            Some(Ok(batch)) => {
                self.done.fetch_add(batch.embedded, Ordering::Relaxed);
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

/// Memories without a vector of this engine's embedder.
async fn stale(core: &Core, limit: usize) -> Result<Vec<UnembeddedMemory>> {
    let (embedder, dims) = (core.embedder.id(), core.embedder.dims());
    core.store.unembedded(embedder, dims, limit).await
}

/// What one batch did.
struct Batch {
    /// The number of memories that got a vector.
    embedded: usize,
    /// Whether all of the batch did.
    is_complete: bool,
}

async fn batch(core: &Arc<Core>, failed: bool) -> Result<Batch> {
    let stale = stale(core, BATCH).await?;
    let asked = stale.len();
    if asked == 0 {
        return Ok(Batch {
            embedded: 0,
            is_complete: true,
        });
    }
    let keys: Vec<_> = stale.iter().map(|memory| memory.key).collect();
    let vectors = embed(core, stale, failed).await?;
    let done = keys.into_iter().zip(vectors);
    let done: Vec<_> = done
        .filter_map(|(key, vector)| Some((key, vector?)))
        .collect();
    let embedded = done.len();
    core.store.set_vectors(core.embedder.id(), done).await?;
    Ok(Batch {
        embedded,
        is_complete: embedded == asked,
    })
}

/// Embeds the memories together, or one by one if one of them may be at fault: a retryable failure
/// suggests that only if the batch `failed` before. A memory without a vector keeps its old one.
async fn embed(
    core: &Arc<Core>,
    stale: Vec<UnembeddedMemory>,
    failed: bool,
) -> Result<Vec<Option<Vec<f32>>>> {
    let core = Arc::clone(core);
    isolate("the embedder", async move {
        let texts: Vec<&str> = stale.iter().map(|memory| memory.task.as_str()).collect();
        match core.embed(&texts).await {
            Ok(vectors) => Ok(vectors.into_iter().map(Some).collect()),
            Err(error) if model::is_setup(&error) || (error.retryable && !failed) => Err(error),
            Err(_) => one_by_one(&core, &texts).await,
        }
    })
    .await
}

/// Embeds texts until the embedder itself fails. A revoked key or a wrong setting must not pass for
/// a text that cannot be embedded, because the memory would lose its old vector.
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
