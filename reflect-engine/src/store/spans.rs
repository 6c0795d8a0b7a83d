use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{KeyId, ProjectId};

use super::ProjectRow;
use crate::error::Result;

/// Spans of OpenTelemetry until the runs of their trace are recorded.
#[async_trait]
pub trait Spans {
    /// Adds spans to their traces. Those that a trace has already are skipped; those of a trace that is
    /// being recorded are late, and not added; neither are those that would exceed
    /// [`SpanBatch::MAX_PARTS`] or [`SpanBatch::MAX_BYTES`]. Fails with
    /// [`Error::NoProject`](crate::Error::NoProject) if the project does not exist and the spans may not
    /// create it.
    async fn insert_spans(
        &self,
        project: &ProjectId,
        author: &SpanAuthor,
        batches: Vec<SpanBatch>,
    ) -> Result<SpanCounts>;

    /// Claims up to `limit` traces that are due at `now`, and keeps others from claiming them until
    /// `until`. From then on they take no more spans. Forgets closed traces whose time has come.
    async fn claim_span_traces(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<SpanClaims>;

    /// Ends the work on a trace: deletes its spans, and remembers their ids until `forget`, if given.
    async fn close_span_trace(&self, key: ProjectRow, forget: Option<Timestamp>) -> Result<()>;
}

/// Who sends spans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanAuthor {
    /// The API key. Spans of one trace with another key are another trace.
    pub key_id: Option<KeyId>,
    /// Whether a missing project is created.
    pub creates_project: bool,
}

/// Spans of one trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanBatch {
    /// The trace.
    pub trace_id: String,
    /// Its spans and events.
    pub parts: Vec<SpanPart>,
    /// Whether its root is among them.
    pub has_root: bool,
    /// When the trace is due if no more spans come.
    pub due: Timestamp,
    /// The same, once its root is there.
    pub due_with_root: Timestamp,
}

impl SpanBatch {
    /// The most spans and events of a trace.
    pub const MAX_PARTS: usize = 10_000;
    /// The most bytes of the spans and events of a trace.
    pub const MAX_BYTES: usize = 16 * 1024 * 1024;
}

/// What a trace has room for.
pub(crate) struct SpanRoom {
    parts: usize,
    bytes: usize,
}

impl SpanRoom {
    /// The room in a trace that has so many parts and bytes.
    pub(crate) fn beside(parts: i64, bytes: i64) -> Self {
        let rest = |most: usize, have: i64| most.saturating_sub(usize::try_from(have).unwrap_or(0));
        Self {
            parts: rest(SpanBatch::MAX_PARTS, parts),
            bytes: rest(SpanBatch::MAX_BYTES, bytes),
        }
    }

    /// Takes the room of a part, if there is enough.
    pub(crate) fn take(&mut self, part: &SpanPart) -> bool {
        let fits = self.parts > 0 && part.body.len() <= self.bytes;
        if fits {
            self.parts -= 1;
            self.bytes -= part.body.len();
        }
        fits
    }
}

/// A span or an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanPart {
    /// Its id within the trace.
    pub id: String,
    /// JSON.
    pub body: String,
}

/// What became of spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpanCounts {
    /// Those that were added.
    pub added: u64,
    /// Those that had been added before.
    pub repeated: u64,
    /// Those whose trace was recorded already.
    pub late: u64,
    /// Those beyond the limits of a trace.
    pub over_limit: u64,
}

/// The result of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanClaims {
    /// The claimed traces.
    pub traces: Vec<SpanTrace>,
    /// When the next trace is due.
    pub next_due: Option<Timestamp>,
}

/// A trace of spans whose runs are to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanTrace {
    /// Its key in the store.
    pub key: ProjectRow,
    /// The project.
    pub project: ProjectId,
    /// The API key that the spans came with.
    pub key_id: Option<KeyId>,
    /// The number of claims, including this one.
    pub attempts: u32,
    /// The JSON of its spans and events, in the order in which they came.
    pub parts: Vec<String>,
}
