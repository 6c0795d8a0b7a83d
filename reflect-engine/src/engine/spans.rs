//! Receiving spans of OpenTelemetry.

use std::collections::{BTreeMap, HashSet};

use reflect_types::spans::SpanRecord;
use reflect_types::{ProjectId, Validate as _};

use super::handle::Engine;
use crate::clock::later;
use crate::error::{Error, Result};
use crate::hash::Fnv;
use crate::store::{SpanAuthor, SpanBatch, SpanCounts, SpanPart};

impl Engine {
    /// Stores spans until their trace is complete: some seconds after its root has come, or after
    /// [`span_quiet`](crate::Builder::span_quiet) without another span. Then each run of an agent in it is
    /// recorded as a trace, once, with an idempotency key: see [`reflect_types::spans`].
    pub async fn record_spans(
        &self,
        project: &ProjectId,
        records: Vec<SpanRecord>,
    ) -> Result<SpanCounts> {
        let core = self.core();
        core.ensure_running()?;
        project.validate()?;
        if records.is_empty() {
            return Ok(SpanCounts::default());
        }
        let now = core.now();
        let mut batches: BTreeMap<String, SpanBatch> = BTreeMap::new();
        let mut ids = HashSet::new();
        for mut record in records {
            record.keep_the_agents();
            let trace_id = record.trace_id().to_owned();
            let part = part(&record)?;
            if !ids.insert((trace_id.clone(), part.id.clone())) {
                continue;
            }
            let batch = batches
                .entry(trace_id.clone())
                .or_insert_with(|| SpanBatch {
                    trace_id,
                    parts: Vec::new(),
                    has_root: false,
                    due: later(now, core.spans.quiet),
                    due_with_root: later(now, core.spans.settle()),
                });
            batch.has_root |= is_root(&record);
            batch.parts.push(part);
        }
        let author = SpanAuthor {
            key_id: self.key().cloned(),
            creates_project: self.creates_projects(),
        };
        let batches = batches.into_values().collect();
        let counts = core.store.insert_spans(project, &author, batches).await?;
        core.spans.totals().receive(counts);
        core.spans.arrived.notify_one();
        Ok(counts)
    }
}

fn is_root(record: &SpanRecord) -> bool {
    matches!(record, SpanRecord::Span(span) if span.parent_span_id.is_none())
}

/// A span has the id of OpenTelemetry; an event is recognised by what it says.
fn part(record: &SpanRecord) -> Result<SpanPart> {
    let body = serde_json::to_string(record)
        .map_err(|error| Error::internal("a span cannot be stored", error))?;
    let id = match record {
        SpanRecord::Span(span) => span.span_id.clone(),
        SpanRecord::Event { span_id, .. } => {
            let hash = Fnv::new().bytes(body.as_bytes()).finish();
            format!("{span_id}/{hash:016x}")
        }
    };
    Ok(SpanPart { id, body })
}
