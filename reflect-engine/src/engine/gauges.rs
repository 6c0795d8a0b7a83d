//! What operators watch.

use jiff::{SignedDuration, Timestamp};

use super::handle::Engine;
use crate::error::Result;
use crate::span_work::SpanTotals;
use crate::store::{Connections, JobKind, Queue};

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
    /// What became of spans of OpenTelemetry since the engine started.
    pub spans: SpanTotals,
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

impl QueueGauge {
    fn new(kind: JobKind, queue: Queue, now: Timestamp) -> Self {
        let delay = queue.oldest.map(|oldest| now.duration_since(oldest));
        Self {
            kind,
            jobs: queue.jobs,
            delay: delay.unwrap_or_default().max(SignedDuration::ZERO),
        }
    }
}

impl Engine {
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
            queues.push(QueueGauge::new(kind, queue, core.now()));
        }
        let (indexes, index_bytes, index_lag) =
            core.indexes.measure(&core.store.revisions().await?);
        Ok(Gauges {
            queues,
            connections: core.store.connections(),
            indexes,
            index_bytes,
            index_lag,
            spans: core.spans.totals(),
        })
    }
}
