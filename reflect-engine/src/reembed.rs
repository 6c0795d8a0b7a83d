//! Brings the memories of another embedder into the space of this one, in the background.
//!
//! What is left to do stands in the store, so that it goes on where it was when the engine is
//! started again. Queries use what is done already.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::later;
use crate::engine::core::{Core, contained};
use crate::error::Result;
use crate::model;
use crate::store::Unembedded;

/// How many memories are embedded at a time.
const BATCH: usize = 128;
/// How long to wait after a failure, and before looking for what other processes have stored.
const PAUSE: Duration = Duration::from_secs(30);

/// Embeds all that has to be embedded anew, now and whenever another process stores such a thing.
/// It ends when another engine has taken over, or two would undo each other's work for ever.
pub(crate) async fn keep_up(core: Arc<Core>) {
    let mut stopping = core.stopping.subscribe();
    let mut done = 0_usize;
    while !*stopping.borrow() {
        let step = batch(&core);
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
                done = 0;
            }
            Ok(Batch::Embedded(0)) => {}
            Ok(Batch::Embedded(count)) => {
                done += count;
                continue;
            }
            Err(error) => tracing::warn!(%error, "could not embed memories anew: trying again"),
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

async fn batch(core: &Arc<Core>) -> Result<Batch> {
    core.claim_embedder().await?;
    let embedded_by = core.store.embedder().await?;
    if core.same_space(embedded_by.as_deref()).is_err() {
        return Ok(Batch::NotOurs);
    }
    let stale = core.store.unembedded(core.embedder.id(), BATCH).await?;
    if stale.is_empty() {
        return Ok(Batch::Embedded(0));
    }
    let keys: Vec<_> = stale.iter().map(|memory| memory.key).collect();
    let vectors = embed(core, stale).await?;
    let vectors: Vec<_> = keys.into_iter().zip(vectors).collect();
    let count = vectors.len();
    core.store.set_vectors(core.embedder.id(), vectors).await?;
    Ok(Batch::Embedded(count))
}

/// Together if possible; one by one where the embedder refuses one of them for good.
async fn embed(core: &Arc<Core>, stale: Vec<Unembedded>) -> Result<Vec<Vec<f32>>> {
    let core = Arc::clone(core);
    let work = async move {
        let texts: Vec<&str> = stale.iter().map(|memory| memory.task.as_str()).collect();
        match core.embed(&texts).await {
            Err(error) if !error.retryable => one_by_one(&core, &texts).await,
            outcome => outcome,
        }
    };
    contained(work).await
}

async fn one_by_one(core: &Core, texts: &[&str]) -> Result<Vec<Vec<f32>>, model::Error> {
    let mut vectors = Vec::with_capacity(texts.len());
    for text in texts {
        match core.embed(&[text]).await {
            Ok(vector) => vectors.extend(vector),
            Err(error) if error.retryable => return Err(error),
            // A key that ended, or a wrong setting, must not pass for a text that cannot be
            // embedded: its old vector would be gone for good.
            Err(error) if !works(core).await => return Err(error),
            Err(error) => {
                tracing::warn!(%error, "a memory's task cannot be embedded: it will not be found");
                vectors.push(vec![0.0; core.embedder.dims()]);
            }
        }
    }
    Ok(vectors)
}

/// Whether the embedder does its work on a text that nothing can be wrong with.
async fn works(core: &Core) -> bool {
    core.embed(&["Refund order 7"]).await.is_ok()
}
