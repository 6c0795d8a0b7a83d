//! Reviewing the trace that a key or metadata names.

use reflect_types::{Metadata, ProjectId, ReviewByKey, Trace, TraceId};

use super::handle::Engine;
use crate::error::{Error, Result};
use crate::rank;
use crate::store::{FoundTrace, TraceKey, labels};

impl Engine {
    /// Reviews the one trace that has this idempotency key and this metadata, as
    /// [`review_trace`](Self::review_trace) does. If several have the metadata, it is the only one of them,
    /// the newest 100, without a review; else the error names them.
    pub async fn review_by_key(&self, project: &ProjectId, by_key: ReviewByKey) -> Result<Trace> {
        const MAX_FOUND: usize = 100;

        let core = self.checked(project, &by_key)?;
        let key = match &by_key.idempotency_key {
            Some(key) => TraceKey::Idempotency(key.clone()),
            None => TraceKey::Labels(labels(&by_key.metadata)),
        };
        let mut found = core.store.find_traces(project, &key, MAX_FOUND).await?;
        found.retain(|trace| rank::matches(&by_key.metadata, Some(&trace.metadata)));
        let id = only(found, &by_key)?;
        self.review_trace(project, &id, by_key.review).await
    }
}

/// The only trace, or the only one without a review.
fn only(mut found: Vec<FoundTrace>, by_key: &ReviewByKey) -> Result<TraceId> {
    if found.len() > 1 && found.iter().filter(|trace| !trace.has_review).count() == 1 {
        found.retain(|trace| !trace.has_review);
    }
    match &found[..] {
        [] => Err(nothing_found(by_key)),
        [trace] => Ok(trace.id.clone()),
        traces => Err(ambiguous(traces, &by_key.metadata)),
    }
}

fn nothing_found(by_key: &ReviewByKey) -> Error {
    match &by_key.idempotency_key {
        Some(key) if by_key.metadata.is_empty() => {
            Error::not_found("trace with the idempotency key", key)
        }
        Some(key) => {
            let metadata = text(&by_key.metadata);
            Error::not_found(
                "trace with this metadata and idempotency key",
                format!("{metadata}, {key}"),
            )
        }
        None => Error::not_found("trace with the metadata", text(&by_key.metadata)),
    }
}

fn ambiguous(traces: &[FoundTrace], metadata: &Metadata) -> Error {
    const MAX_LISTED: usize = 10;

    let waiting = traces.iter().filter(|trace| !trace.has_review).count();
    let ids = traces
        .iter()
        .take(MAX_LISTED)
        .map(|trace| trace.id.as_str());
    let ids = ids.collect::<Vec<_>>().join(", ");
    let rest = match traces.len().saturating_sub(MAX_LISTED) {
        0 => String::new(),
        more => format!(" and at least {more} more"),
    };
    Error::Conflict(format!(
        "{} traces have the metadata {}, {waiting} of them without a review: {ids}{rest}. Add to `match` what \
         tells them apart, or review one by its id. Nothing was reviewed",
        traces.len(),
        text(metadata)
    ))
}

fn text(metadata: &Metadata) -> String {
    serde_json::to_string(metadata).unwrap_or_default()
}
