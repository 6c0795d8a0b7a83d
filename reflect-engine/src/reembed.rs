//! Brings the memories of another embedder into the space of this one, in the background.
//!
//! What is left to do stands in the store, so that it goes on where it was when the engine is
//! started again. Queries use what is done already.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::later;
use crate::engine::core::{Core, contained};
use crate::engine::new_id;
use crate::error::Result;
use crate::model;
use crate::store::UnembeddedMemory;

/// How many memories are embedded at a time.
const BATCH: usize = 128;
/// How long to wait after a failure, and before looking for what other processes have stored.
const PAUSE: Duration = Duration::from_secs(30);

/// Embeds all that has to be embedded anew, now and whenever another process stores such a thing.
/// It ends when another engine has taken over, or two would undo each other's work for ever.
pub(crate) async fn keep_up(core: Arc<Core>) {
    let mut stopping = core.stopping.subscribe();
    let mut done = 0_usize;
    let mut failed = false;
    while !*stopping.borrow() {
        let step = batch(&core, failed);
        let outcome = tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => return,
            outcome = step => outcome,
        };
        let embedder = core.embedder.id();
        match outcome {
            Ok(Batch::NotOurs) => {
                tracing::warn!(
                    embedder,
                    "another engine embeds these memories otherwise now"
                );
                return;
            }
            Ok(Batch::Embedded(0)) if done > 0 => {
                tracing::info!(done, embedder, "all memories are embedded anew");
                (done, failed) = (0, false);
            }
            Ok(Batch::Embedded(0)) => failed = false,
            Ok(Batch::Embedded(count)) => {
                done += count;
                continue;
            }
            Err(error) => {
                tracing::warn!(%error, "could not embed memories anew: trying again");
                failed = true;
            }
        }
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => return,
            () = core.clock.sleep_until(later(core.now(), PAUSE)) => {}
        }
    }
}

/// What came of one look.
enum Batch {
    Embedded(usize),
    NotOurs,
}

async fn batch(core: &Arc<Core>, failed: bool) -> Result<Batch> {
    core.claim_embedder().await?;
    let embedded_by = core.store.embedder().await?;
    if core.same_space(embedded_by.as_deref()).is_err() {
        return Ok(Batch::NotOurs);
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

/// Together if possible; one by one where one of them may be what is wrong, which a failure that may
/// pass says only where it `failed` before. A memory without a vector keeps the one it has.
async fn embed(
    core: &Arc<Core>,
    stale: Vec<UnembeddedMemory>,
    failed: bool,
) -> Result<Vec<Option<Vec<f32>>>> {
    let core = Arc::clone(core);
    let work = async move {
        let texts: Vec<&str> = stale.iter().map(|memory| memory.task.as_str()).collect();
        match core.embed(&texts).await {
            Ok(vectors) => Ok(vectors.into_iter().map(Some).collect()),
            Err(error) if model::is_setup(&error) || (error.retryable && !failed) => Err(error),
            Err(_) => one_by_one(&core, &texts).await,
        }
    };
    contained(work).await
}

/// As far as the embedder does its work. That a key ended, or a setting is wrong, must not pass for a
/// text that cannot be embedded: its old vector would be gone for good.
async fn one_by_one(core: &Core, texts: &[&str]) -> Result<Vec<Option<Vec<f32>>>, model::Error> {
    let mut vectors = Vec::with_capacity(texts.len());
    let mut stuck = None;
    for text in texts {
        let error = match core.embed(&[text]).await {
            Ok(vector) => {
                vectors.extend(vector.into_iter().map(Some));
                continue;
            }
            Err(error) => error,
        };
        if model::is_setup(&error) || !works(core).await {
            stuck = Some(error);
            break;
        }
        if error.retryable {
            tracing::warn!(%error, "a memory's task cannot be embedded for now");
            vectors.push(None);
            stuck = Some(error);
        } else {
            tracing::warn!(%error, "a memory's task cannot be embedded: it will not be found");
            vectors.push(Some(vec![0.0; core.embedder.dims()]));
        }
    }
    match stuck {
        Some(error) if vectors.iter().all(Option::is_none) => Err(error),
        _ => Ok(vectors),
    }
}

/// Whether the embedder does its work on a text that nothing can be wrong with, and that it has not
/// seen: what it remembers says nothing about now.
async fn works(core: &Core) -> bool {
    let text = format!("Refund order {}", new_id());
    core.embed(&[&text]).await.is_ok()
}
