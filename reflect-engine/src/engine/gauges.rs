//! What operators watch.

use jiff::SignedDuration;

use super::handle::Engine;
use crate::core::SpanTotals;
use crate::error::Result;
use crate::store::{Connections, JobKind, KnownEmbedder};

/// The state of an engine and its store.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Gauges {
    /// The jobs in the queue, by kind.
    pub queues: Vec<QueueGauge>,
    /// The connections to a database server; `None` for a store without one.
    pub connections: Option<Connections>,
    /// The projects whose index is in memory.
    pub indexes: u64,
    /// The bytes of these indexes.
    pub index_bytes: u64,
    /// The changes of memories that these indexes lack, which the next query of their project applies.
    pub index_lag: u64,
    /// How far the engine has come with vectors of its embedder.
    pub embedding: EmbeddingGauge,
    /// What became of spans of OpenTelemetry since the engine started.
    pub spans: SpanTotals,
}

/// How far an engine has come with vectors of its embedder. Queries find the memories that have one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct EmbeddingGauge {
    /// Whether all memories have had a vector: it is active, and not building.
    pub is_active: bool,
    /// The memories that have none yet, as of the last look.
    pub lacking: u64,
}

/// The jobs of a kind.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct QueueGauge {
    /// The kind.
    pub kind: JobKind,
    /// The jobs that wait or are in progress.
    pub jobs: u64,
    /// How long the first of those that wait could have been begun.
    pub delay: SignedDuration,
}

impl Engine {
    /// How far the engine has come with vectors of its embedder.
    pub fn embedding(&self) -> EmbeddingGauge {
        let known = *self.core().embedding();
        EmbeddingGauge {
            is_active: known.is_complete,
            lacking: known.lacking,
        }
    }

    /// The embedders whose vectors the store has, and how many memories have none of each.
    pub async fn embedders(&self) -> Result<Vec<(KnownEmbedder, u64)>> {
        let core = self.core();
        core.ensure_running()?;
        let mut found = Vec::new();
        for known in core.store.embedders().await? {
            let lacking = core.store.count_unembedded(&known.space, None).await?;
            found.push((known, lacking));
        }
        Ok(found)
    }

    /// What operators watch: the queue, the connections and the indexes.
    pub async fn gauges(&self) -> Result<Gauges> {
        let core = self.core();
        core.ensure_running()?;
        let mut queues = Vec::new();
        for kind in [
            JobKind::Reflection,
            JobKind::Judgement,
            JobKind::Reembedding,
        ] {
            let queue = core.store.queue(kind).await?;
            let delay = queue.oldest.map(|oldest| core.now().duration_since(oldest));
            queues.push(QueueGauge {
                kind,
                jobs: queue.jobs,
                delay: delay.unwrap_or_default().max(SignedDuration::ZERO),
            });
        }
        let (indexes, index_bytes, index_lag) =
            core.indexes.measure(&core.store.revisions().await?);
        Ok(Gauges {
            embedding: self.embedding(),
            queues,
            connections: core.store.connections(),
            indexes,
            index_bytes,
            index_lag,
            spans: *core.spans.totals(),
        })
    }
}
