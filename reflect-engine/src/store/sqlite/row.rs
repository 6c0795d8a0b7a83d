//! Rows as records, and back.

use jiff::Timestamp;
use reflect_types::{
    Arm, Aside, IngestStatus, KeyId, MemoryId, MemoryRecord, MemoryStatus, Metadata, ModelVerdict,
    ProjectId, ReviewRecord, ReviewStatus, Reviewer, Trace, TraceId, UtilityEvent, Verdict,
};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::fault::Fault;
use crate::review::{GivenReview, LearnedText, NewReview, PastReview, Teacher};
use crate::store::{LongFields, Undecoded};

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
pub(super) const STATUS: &str = status!();

/// The columns of [`trace`], from `trace t LEFT JOIN review r ON r.trace = t.key`.
pub(super) const TRACE: &str = concat!(
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
pub(super) const TRACE_COLUMNS: usize = columns(TRACE);

/// The number of columns in a list of them, in which every comma separates two.
const fn columns(list: &str) -> usize {
    let (bytes, mut at, mut count) = (list.as_bytes(), 0, 1);
    while at < bytes.len() {
        if bytes[at] == b',' {
            count += 1;
        }
        at += 1;
    }
    count
}

pub(super) fn trace(row: &Row<'_>) -> Result<Trace, Fault> {
    let decoded = undecoded_trace(row)?.decode();
    decoded.map_err(|error| Fault::Data(error.to_string()))
}

pub(super) fn undecoded_trace(row: &Row<'_>) -> Result<Undecoded<Trace>, Fault> {
    let id = TraceId::new(row.get::<_, String>(0)?);
    let review = match row.get::<_, Option<String>>(15)? {
        Some(review_id) => Some(ReviewRecord {
            id: review_id,
            trace_id: id.clone(),
            result: verdict(row, 16)?,
            feedback_text: row.get(17)?,
            mode: row
                .get_ref(18)?
                .as_str()
                .map_err(rusqlite::Error::from)?
                .into(),
            reviewer: Some(reviewer(row, 19)?),
            key_id: row.get::<_, Option<String>>(20)?.map(KeyId::new),
            overruled: model_verdict(row, 21)?,
        }),
        None => None,
    };
    let ingest_status = status(row, 7)?;
    let error = row.get(9)?;
    // Without a review there is no ingestion: the error is the judge's.
    let (last_ingest_error, judge_error) =
        if review.is_none() && ingest_status == IngestStatus::Completed {
            (None, error)
        } else {
            (error, None)
        };
    let trace = Trace {
        id,
        task: row.get(1)?,
        trajectory: Vec::new(),
        final_response: row.get(3)?,
        retrieved_memory_ids: Vec::new(),
        ignored_memory_ids: Vec::new(),
        review_status: if row.get(6)? {
            ReviewStatus::Reviewed
        } else {
            ReviewStatus::Pending
        },
        ingest_status,
        ingest_attempts: row.get(8)?,
        last_ingest_error,
        judge_error,
        model: row.get(10)?,
        metadata: Metadata::new(),
        reference_context: row.get(12)?,
        created_memory_id: row.get::<_, Option<String>>(13)?.map(MemoryId::new),
        review,
        withdrawn_verdict: model_verdict(row, 23)?,
        judge_note: None,
        key_id: row.get::<_, Option<String>>(25)?.map(KeyId::new),
        arm: arm(row, 26)?,
        created_at: row.get(14)?,
    };
    let long = LongFields {
        trajectory: json_text(row, 2)?,
        metadata: json_text(row, 11)?,
        retrieved_memory_ids: json_text(row, 4)?,
        ignored_memory_ids: json_text(row, 5)?,
    };
    Ok(Undecoded::new(trace, long))
}

fn arm(row: &Row<'_>, column: usize) -> Result<Option<Arm>, Fault> {
    let text = row.get_ref(column)?.as_str_or_null();
    Ok(text.map_err(rusqlite::Error::from)?.map(Arm::from))
}

/// The length of the texts in a row of [`TRACE`].
pub(super) fn trace_bytes(row: &Row<'_>) -> Result<usize, Fault> {
    text_bytes(row, TRACE_COLUMNS)
}

/// The length of the texts in a row of [`MEMORY`].
pub(super) fn memory_bytes(row: &Row<'_>) -> Result<usize, Fault> {
    text_bytes(row, MEMORY_COLUMNS)
}

/// The length of the texts in these first columns of a row.
pub(super) fn text_bytes(row: &Row<'_>, columns: usize) -> Result<usize, Fault> {
    let mut bytes = 0;
    for column in 0..columns {
        if let ValueRef::Text(text) = row.get_ref(column)? {
            bytes += text.len();
        }
    }
    Ok(bytes)
}

/// The columns of [`memory`], from `memory m`.
pub(super) const MEMORY: &str = "m.key, m.id, m.trace_id, m.task, m.reflection, m.success, m.q, \
     m.uses, m.metadata, m.created_at, iif(m.status = 'active', coalesce(m.aside, 'active'), m.status), \
     m.key_id, m.reviewer_model, m.given, m.alpha, iif(m.status = 'active', m.aside_reason, NULL), \
     m.aside_at, iif(m.status = 'active', (SELECT x.id FROM memory x WHERE x.key = m.aside_into), NULL)";

/// The number of columns of [`MEMORY`].
pub(super) const MEMORY_COLUMNS: usize = 18;

/// The memory after the key in column 0.
pub(super) fn memory(row: &Row<'_>) -> Result<MemoryRecord, Fault> {
    Ok(MemoryRecord {
        id: MemoryId::new(row.get::<_, String>(1)?),
        trace_id: TraceId::new(row.get::<_, String>(2)?),
        task: row.get(3)?,
        reflection: json(row, 4)?,
        success: row.get(5)?,
        q_value: row.get(6)?,
        uses: count(row, 7)?,
        metadata: json(row, 8)?,
        created_at: row.get(9)?,
        status: memory_status(row, 10)?,
        key_id: row.get::<_, Option<String>>(11)?.map(KeyId::new),
        reviewer: Some(reviewer(row, 12)?),
        retrieved_memory_ids: json(row, 13)?,
        alpha: Some(row.get(14)?),
        aside: match (row.get(15)?, row.get(16)?) {
            (Some(reason), Some(since)) => Some(Aside { reason, since }),
            _ => None,
        },
        merged_into: row.get::<_, Option<String>>(17)?.map(MemoryId::new),
    })
}

/// The columns of [`event`], from `utility_event e`.
pub(super) const EVENT: &str = "e.trace_id, e.review_id, e.alpha, e.reward, e.before, e.after, e.created_at, e.key_id, \
     e.reviewer_model";

/// The number of columns of [`EVENT`].
pub(super) const EVENT_COLUMNS: usize = 9;

pub(super) fn event(row: &Row<'_>, memory_id: &MemoryId) -> Result<UtilityEvent, Fault> {
    Ok(UtilityEvent {
        memory_id: memory_id.clone(),
        trace_id: TraceId::new(row.get::<_, String>(0)?),
        review_id: row.get(1)?,
        alpha: row.get(2)?,
        reward: row.get(3)?,
        before: row.get(4)?,
        after: row.get(5)?,
        created_at: row.get(6)?,
        key_id: row.get::<_, Option<String>>(7)?.map(KeyId::new),
        reviewer: Some(reviewer(row, 8)?),
    })
}

/// The columns of [`review`], from `review r`.
pub(super) const REVIEW: &str = "r.id, r.verdict, r.feedback, r.alpha, r.reflection, r.mode, r.created_at, r.reviewer_model, \
     r.key_id, r.overruled_model, r.overruled_verdict";

pub(super) fn review(row: &Row<'_>) -> Result<NewReview, Fault> {
    let reflection: Option<String> = row.get(4)?;
    Ok(NewReview {
        id: row.get(0)?,
        verdict: verdict(row, 1)?,
        feedback: row.get(2)?,
        alpha: row.get(3)?,
        reflection: reflection
            .as_deref()
            .map(serde_json::from_str)
            .transpose()?,
        mode: row
            .get_ref(5)?
            .as_str()
            .map_err(rusqlite::Error::from)?
            .into(),
        reviewer: reviewer(row, 7)?,
        key_id: row.get::<_, Option<String>>(8)?.map(KeyId::new),
        overruled: model_verdict(row, 9)?,
        created_at: time(row, 6)?,
    })
}

pub(super) fn status(row: &Row<'_>, column: usize) -> Result<IngestStatus, Fault> {
    let text = row
        .get_ref(column)?
        .as_str()
        .map_err(rusqlite::Error::from)?;
    Ok(IngestStatus::from(text))
}

/// A count that may be missing.
pub(super) fn optional_count(row: &Row<'_>, column: usize) -> Result<Option<u64>, Fault> {
    match row.get_ref(column)? {
        ValueRef::Null => Ok(None),
        _ => Ok(Some(count(row, column)?)),
    }
}

/// One of the names of an enumeration.
pub(super) fn named<T: for<'a> From<&'a str>>(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<T>, Fault> {
    let text: Option<String> = row.get(column)?;
    Ok(text.as_deref().map(T::from))
}

pub(super) fn memory_status(row: &Row<'_>, column: usize) -> Result<MemoryStatus, Fault> {
    let text = row
        .get_ref(column)?
        .as_str()
        .map_err(rusqlite::Error::from)?;
    Ok(MemoryStatus::from(text))
}

pub(super) fn verdict(row: &Row<'_>, column: usize) -> Result<Verdict, Fault> {
    let text = row
        .get_ref(column)?
        .as_str()
        .map_err(rusqlite::Error::from)?;
    text.parse()
        .map_err(|error: reflect_types::UnknownVerdict| Fault::Data(error.to_string()))
}

/// The reviewer in the column of a review's model.
pub(super) fn reviewer(row: &Row<'_>, column: usize) -> Result<Reviewer, Fault> {
    let model: Option<String> = row.get(column)?;
    Ok(model.map_or(Reviewer::Human, Reviewer::Model))
}

/// The key in this column and the reviewer in the next.
pub(super) fn teacher(row: &Row<'_>, column: usize) -> Result<Teacher, Fault> {
    Ok(Teacher {
        key_id: row.get::<_, Option<String>>(column)?.map(KeyId::new),
        reviewer: reviewer(row, column + 1)?,
    })
}

/// The text of a memory in the columns of `generation, learned`.
pub(super) fn learned_text(row: &Row<'_>, column: usize) -> Result<Option<LearnedText>, Fault> {
    if row.get_ref(column + 1)? == ValueRef::Null {
        return Ok(None);
    }
    Ok(Some(LearnedText {
        reflection: json(row, column + 1)?,
        generation: row.get(column)?,
    }))
}

/// A review, or a withdrawal, in the columns of `key_id, reviewer_model, created_at, id, verdict,
/// alpha, overruled_model, overruled_verdict` and its memory.
pub(super) fn given_review(row: &Row<'_>, column: usize) -> Result<GivenReview, Fault> {
    let review = match row.get(column + 3)? {
        Some(id) => Some(PastReview {
            id,
            verdict: verdict(row, column + 4)?,
            alpha: row.get(column + 5)?,
            overruled: model_verdict(row, column + 6)?,
            memory: row.get::<_, Option<String>>(column + 8)?.map(MemoryId::new),
        }),
        None => None,
    };
    Ok(GivenReview {
        teacher: teacher(row, column)?,
        at: time(row, column + 2)?,
        review,
    })
}

pub(super) fn time(row: &Row<'_>, column: usize) -> Result<Timestamp, Fault> {
    let text = row
        .get_ref(column)?
        .as_str()
        .map_err(rusqlite::Error::from)?;
    text.parse()
        .map_err(|error: jiff::Error| Fault::Data(error.to_string()))
}

/// The verdict of a model in this column and the next.
pub(super) fn model_verdict(row: &Row<'_>, column: usize) -> Result<Option<ModelVerdict>, Fault> {
    let Some(model) = row.get(column)? else {
        return Ok(None);
    };
    let result = verdict(row, column + 1)?;
    Ok(Some(ModelVerdict { model, result }))
}

pub(super) fn count(row: &Row<'_>, column: usize) -> Result<u64, Fault> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| Fault::Data(format!("a count is negative: {number}")))
}

/// A count as it is stored.
pub(super) fn stored_count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<T, Fault> {
    let text = row
        .get_ref(column)?
        .as_str()
        .map_err(rusqlite::Error::from)?;
    Ok(serde_json::from_str(text)?)
}

/// JSON that is passed on as it is stored.
fn json_text(row: &Row<'_>, column: usize) -> Result<Box<RawValue>, Fault> {
    Ok(RawValue::from_string(row.get(column)?)?)
}

pub(super) fn to_json(value: &impl Serialize) -> Result<String, Fault> {
    Ok(serde_json::to_string(value)?)
}

pub(super) fn limit(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The key of a trace.
pub(super) fn trace_key(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<i64>, Fault> {
    Ok(db
        .prepare_cached(
            "SELECT t.key FROM trace t JOIN project p ON p.key = t.project \
             WHERE t.id = ?1 AND p.id = ?2",
        )?
        .query_row([id.as_str(), project.as_str()], |row| row.get(0))
        .optional()?)
}
