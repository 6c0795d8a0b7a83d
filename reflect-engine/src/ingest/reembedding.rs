//! Re-embedding: memories of another embedder get vectors of this engine's.
//!
//! The store knows which memories are left, so the work resumes after a restart. Queries use what
//! is done.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::backoff::Backoff;
use super::worker::{Claimed, Work};
use crate::clock::later;
use crate::core::Core;
use crate::error::Result;
use crate::id::new_id;
use crate::model;
use crate::store::UnembeddedMemory;
use crate::task::isolate;

/// The number of memories embedded in one job.
const BATCH: usize = 128;

const RETRY: Backoff = Backoff {
    first: Duration::from_secs(15),
    factor: 2,
    longest: Duration::from_secs(300),
};

/// The work on memories of another embedder.
pub(super) struct ReembeddingWork {
    core: Arc<Core>,
    progress: Mutex<Progress>,
}

struct Progress {
    /// When the next batch is due; `None` once another engine has changed the store's embedder.
    due: Option<Timestamp>,
    /// The number of failures in a row.
    failures: u32,
    /// The number of memories embedded since there was last nothing to do.
    done: usize,
}

impl ReembeddingWork {
    pub(super) fn new(core: &Arc<Core>) -> Self {
        Self {
            core: Arc::clone(core),
            progress: Mutex::new(Progress {
                due: Some(core.now()),
                failures: 0,
                done: 0,
            }),
        }
    }
}

impl Work for ReembeddingWork {
    /// The number of failures in a row so far.
    type Job = u32;

    const NAME: &'static str = "re-embedding";
    const POLL: Duration = Duration::from_secs(30);

    fn concurrency(&self) -> usize {
        1
    }

    async fn queued(&self) {
        std::future::pending::<()>().await;
    }

    async fn claim(&self, _owner: &str, limit: usize) -> Result<Claimed<u32>> {
        let progress = self.progress();
        let is_due = limit > 0 && progress.due.is_some_and(|due| due <= self.core.now());
        Ok(Claimed {
            jobs: is_due.then_some(progress.failures).into_iter().collect(),
            next_due: progress.due,
        })
    }

    async fn run(self: Arc<Self>, _owner: Arc<str>, failures: u32) {
        let mut stopping = self.core.stopping.subscribe();
        tokio::select! {
            // A batch that is cut short is embedded at the next start.
            _ = stopping.wait_for(|stop| *stop) => {}
            result = batch(&self.core, failures > 0) => self.record(result),
        }
    }

    async fn release(&self, _worker: &str) -> Result<()> {
        Ok(())
    }
}

impl ReembeddingWork {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, result: Result<Batch>) {
        let (now, embedder) = (self.core.now(), self.core.embedder.id());
        let mut progress = self.progress();
        match result {
            Ok(Batch::OtherEmbedder) => {
                // Two engines would undo each other's work forever.
                tracing::warn!(embedder, "another engine has changed the embedder");
                progress.due = None;
            }
            Ok(Batch::Embedded(0)) => {
                if progress.done > 0 {
                    tracing::info!(
                        done = progress.done,
                        embedder,
                        "all memories are re-embedded"
                    );
                }
                *progress = Progress {
                    due: Some(later(now, Self::POLL)),
                    failures: 0,
                    done: 0,
                };
            }
            Ok(Batch::Embedded(count)) => {
                progress.due = Some(now);
                progress.done += count;
            }
            Err(error) => {
                tracing::warn!(%error, "could not re-embed memories: trying again");
                progress.failures = progress.failures.saturating_add(1);
                let delay = RETRY.delay_or(progress.failures, error.retry_after());
                progress.due = Some(later(now, delay));
            }
        }
    }
}

/// What one batch did.
enum Batch {
    Embedded(usize),
    OtherEmbedder,
}

async fn batch(core: &Arc<Core>, failed: bool) -> Result<Batch> {
    core.claim_embedder().await?;
    let current = core.store.embedder().await?;
    if core.ensure_same_embedder(current.as_deref()).is_err() {
        return Ok(Batch::OtherEmbedder);
    }
    let (embedder, dims) = (core.embedder.id(), core.embedder.dims());
    let stale = core.store.unembedded(embedder, dims, BATCH).await?;
    if stale.is_empty() {
        return Ok(Batch::Embedded(0));
    }
    let keys: Vec<_> = stale.iter().map(|memory| memory.key).collect();
    let vectors = embed(core, stale, failed).await?;
    let done = keys.into_iter().zip(vectors);
    let done: Vec<_> = done
        .filter_map(|(key, vector)| Some((key, vector?)))
        .collect();
    let count = done.len();
    core.store.set_vectors(embedder, done).await?;
    Ok(Batch::Embedded(count))
}

/// Embeds the memories together, or one by one if one of them may be at fault: a retryable failure
/// suggests that only if the batch `failed` before. A memory without a vector keeps its old one.
async fn embed(
    core: &Arc<Core>,
    stale: Vec<UnembeddedMemory>,
    failed: bool,
) -> Result<Vec<Option<Vec<f32>>>> {
    let core = Arc::clone(core);
    isolate(async move {
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
