//! Traces as rows.

use reflect_types::{IngestStatus, Metadata, ReviewRecord, ReviewStatus, Trace, TraceId, Verdict};
use serde_json::value::RawValue;

use super::{
    Row, Unreadable, columns, count, key_id, memory_id, model_verdict, name, optional,
    optional_name, owned, reviewer, verdict,
};
use crate::store::{LongFields, TraceOverview, Undecoded};

/// The condition that a worker holds the reflection of the trace `t`.
macro_rules! held {
    () => {
        "t.ingest_status = 'queued' AND EXISTS (SELECT 1 FROM queue j WHERE j.trace = t.key \
             AND j.kind = 'reflection' AND j.owner IS NOT NULL)"
    };
}

/// The ingest status of the trace `t`. `processing` is in the queue alone.
macro_rules! status {
    () => {
        concat!(
            "CASE WHEN ",
            held!(),
            " THEN 'processing' ELSE t.ingest_status END"
        )
    };
}

/// The ingest status of the trace `t`.
pub(in crate::store) const STATUS: &str = status!();

/// The columns of [`trace`], from `trace t LEFT JOIN review r ON r.trace = t.key`.
pub(in crate::store) const TRACE: &str = concat!(
    "t.id, t.task, t.trajectory, t.final_response, t.retrieved, t.ignored, t.reviewed, ",
    status!(),
    ", CASE WHEN ",
    held!(),
    " THEN (SELECT j.attempts FROM queue j WHERE j.trace = t.key AND j.kind = 'reflection') \
     ELSE t.ingest_attempts END, \
     t.last_ingest_error, t.model, t.metadata, t.reference_context, t.created_memory, t.created_at, \
     r.id, r.verdict, r.feedback, r.mode, r.reviewer_model, r.key_id, r.overruled_model, \
     r.overruled_verdict, t.withdrawn_model, t.withdrawn_verdict, t.key_id, t.arm"
);
/// The number of columns in [`TRACE`].
pub(in crate::store) const TRACE_COLUMNS: usize = columns(TRACE);

pub(in crate::store) fn trace<R: Row>(row: &R) -> Result<Trace, R::Fault> {
    let decoded = undecoded_trace(row)?.decode();
    Ok(decoded.map_err(Unreadable::because)?)
}

/// The same, with its long fields as they are stored.
pub(in crate::store) fn undecoded_trace<R: Row>(row: &R) -> Result<Undecoded<Trace>, R::Fault> {
    let id = TraceId::new(owned(row, 0)?);
    let review = match optional(row, 15)? {
        Some(review_id) => Some(ReviewRecord {
            id: review_id,
            trace_id: id.clone(),
            result: verdict(row, 16)?,
            feedback_text: optional(row, 17)?,
            mode: name(row, 18)?,
            reviewer: Some(reviewer(row, 19)?),
            key_id: key_id(row, 20)?,
            overruled: model_verdict(row, 21)?,
        }),
        None => None,
    };
    let ingest_status = name(row, 7)?;
    let error = optional(row, 9)?;
    // Without a review there is no ingestion: the error is the judge's.
    let (last_ingest_error, judge_error) =
        if review.is_none() && ingest_status == IngestStatus::Completed {
            (None, error)
        } else {
            (error, None)
        };
    let trace = Trace {
        id,
        task: owned(row, 1)?,
        trajectory: Vec::new(),
        final_response: owned(row, 3)?,
        retrieved_memory_ids: Vec::new(),
        ignored_memory_ids: Vec::new(),
        review_status: if row.flag(6)? {
            ReviewStatus::Reviewed
        } else {
            ReviewStatus::Pending
        },
        ingest_status,
        ingest_attempts: u32::try_from(row.integer(8)?).map_err(Unreadable::because)?,
        last_ingest_error,
        judge_error,
        model: optional(row, 10)?,
        metadata: Metadata::new(),
        reference_context: optional(row, 12)?,
        created_memory_id: memory_id(row, 13)?,
        review,
        withdrawn_verdict: model_verdict(row, 23)?,
        key_id: key_id(row, 25)?,
        arm: optional_name(row, 26)?,
        created_at: optional(row, 14)?,
    };
    let long = LongFields {
        trajectory: json_text(row, 2)?,
        metadata: json_text(row, 11)?,
        retrieved_memory_ids: json_text(row, 4)?,
        ignored_memory_ids: json_text(row, 5)?,
    };
    Ok(Undecoded::new(trace, long))
}

/// A trace in the columns of `t.id, t.task, t.model, t.created_at`, its ingest status, `r.verdict,
/// r.reviewer_model` and the number of memories it was given.
pub(in crate::store) fn trace_overview<R: Row>(row: &R) -> Result<TraceOverview, R::Fault> {
    let verdict = row.optional_text(5)?;
    let reviewer = match verdict {
        Some(_) => Some(reviewer(row, 6)?),
        None => None,
    };
    Ok(TraceOverview {
        id: TraceId::new(owned(row, 0)?),
        task: owned(row, 1)?,
        model: optional(row, 2)?,
        created_at: owned(row, 3)?,
        ingest_status: name(row, 4)?,
        verdict: verdict.map(|text| text.parse().unwrap_or(Verdict::Unknown)),
        reviewer,
        given: count(row, 7)?,
    })
}

/// JSON that is passed on as it is stored.
fn json_text<R: Row>(row: &R, column: usize) -> Result<Box<RawValue>, R::Fault> {
    Ok(RawValue::from_string(owned(row, column)?)?)
}
