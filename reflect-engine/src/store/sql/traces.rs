//! Traces.

use std::ops::ControlFlow;

use reflect_types::{
    DeletedTraces, IngestStatus, KeyId, ListTraces, MemoryId, Metadata, Page, ProjectId,
    ReviewRecord, ReviewStatus, Trace, TraceId, TraceReceipt, Usage,
};

use super::db::Db;
use super::fault::Fault;
use super::row::Row;
use super::value::params;
use super::{memory_edits, memory_writes, past_reviews, projects, trace_labels};
use crate::error::Error;
use crate::store::page::PAGE_BYTES;
use crate::store::{LongFields, TraceDeletion, Undecoded};

/// Joins the review `r` that a trace `t` has.
pub(super) const CURRENT: &str =
    "LEFT JOIN review r ON r.project = t.project AND r.trace = t.key AND r.state = 'current'";

/// The condition that a worker holds the reflection of the trace `t`.
macro_rules! held {
    () => {
        "t.ingest_status = 'queued' AND EXISTS (SELECT 1 FROM queue j WHERE j.project = t.project \
             AND j.trace = t.key AND j.kind = 'reflection' AND j.owner IS NOT NULL)"
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

/// The columns of [`read`], from a trace `t` and its [`CURRENT`] review.
pub(super) const TRACE: &str = concat!(
    "t.id, t.task, t.final_response, t.retrieved, t.ignored, t.reviewed, ",
    status!(),
    " AS ingest_status, CASE WHEN ",
    held!(),
    " THEN (SELECT j.attempts FROM queue j WHERE j.project = t.project AND j.trace = t.key \
         AND j.kind = 'reflection') ELSE t.ingest_attempts END AS ingest_attempts, \
     t.last_ingest_error, t.model, t.metadata, t.reference_context, t.created_memory, t.created_at, \
     t.withdrawn_model, t.withdrawn_verdict, t.key_id, t.arm, t.idempotency_key, t.parent_run_id, t.session_id, t.input_tokens, t.output_tokens, \
     r.id AS review_id, r.verdict, \
     r.feedback, r.mode, r.reviewer_model, r.key_id AS review_key_id, r.overruled_model, \
     r.overruled_verdict, t.trajectory"
);

/// The trace in a row, with its long fields as they are stored.
pub(super) fn read(row: &Row) -> Result<Undecoded<Trace>, Fault> {
    let id: TraceId = row.get("id")?;
    let review = match row.get("review_id")? {
        Some(review_id) => Some(ReviewRecord {
            id: review_id,
            trace_id: id.clone(),
            result: row.get("verdict")?,
            feedback_text: row.get("feedback")?,
            mode: row.get("mode")?,
            reviewer: Some(row.reviewer()?),
            key_id: row.get("review_key_id")?,
            overruled: row.model_verdict("overruled_model", "overruled_verdict")?,
        }),
        None => None,
    };
    let ingest_status: IngestStatus = row.get("ingest_status")?;
    let error = row.get("last_ingest_error")?;
    // Without a review there is no ingestion: the error is the judge's.
    let (last_ingest_error, judge_error) =
        if review.is_none() && ingest_status == IngestStatus::Completed {
            (None, error)
        } else {
            (error, None)
        };
    let trace = Trace {
        id,
        task: row.get("task")?,
        trajectory: Vec::new(),
        final_response: row.get("final_response")?,
        retrieved_memory_ids: Vec::new(),
        ignored_memory_ids: Vec::new(),
        review_status: if row.get("reviewed")? {
            ReviewStatus::Reviewed
        } else {
            ReviewStatus::Pending
        },
        ingest_status,
        ingest_attempts: row.get("ingest_attempts")?,
        last_ingest_error,
        judge_error,
        model: row.get("model")?,
        metadata: Metadata::new(),
        reference_context: row.get("reference_context")?,
        created_memory_id: row.get("created_memory")?,
        review,
        withdrawn_verdict: row.model_verdict("withdrawn_model", "withdrawn_verdict")?,
        key_id: row.get("key_id")?,
        arm: row.get("arm")?,
        run_id: row.get("idempotency_key")?,
        parent_run_id: row.get("parent_run_id")?,
        session_id: row.get("session_id")?,
        usage: row
            .get::<Option<u64>>("input_tokens")?
            .zip(row.get("output_tokens")?)
            .map(|(input, output)| Usage::new(input, output)),
        created_at: row.get("created_at")?,
    };
    let long = LongFields {
        trajectory: row.raw_json("trajectory")?,
        metadata: row.raw_json("metadata")?,
        retrieved_memory_ids: row.raw_json("retrieved")?,
        ignored_memory_ids: row.raw_json("ignored")?,
    };
    Ok(Undecoded::new(trace, long))
}

pub(super) async fn receipt(
    db: &Db<'_>,
    project: i64,
    key: &str,
) -> Result<Option<TraceReceipt>, Fault> {
    let select = "SELECT id, receipt FROM trace WHERE project = $1 AND idempotency_key = $2";
    let first = db.first(select, &params![project, key]).await?;
    let receipt = first.map(|row| {
        Ok(TraceReceipt {
            trace_id: row.get("id")?,
            ingest_status: row.get("receipt")?,
        })
    });
    receipt.transpose()
}

/// The key of a trace.
pub(super) async fn key_of(db: &Db<'_>, project: i64, id: &TraceId) -> Result<Option<i64>, Fault> {
    let select = "SELECT key FROM trace WHERE project = $1 AND id = $2";
    db.value(select, &params![project, id]).await
}

pub(super) async fn get(
    db: &Db<'_>,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<Undecoded<Trace>>, Fault> {
    let select = format!(
        "SELECT {TRACE} FROM project p JOIN trace t ON t.project = p.key {CURRENT} \
         WHERE p.id = $1 AND t.id = $2"
    );
    let found = db.first(&select, &params![project, id]).await?;
    found.as_ref().map(read).transpose()
}

/// The key up to which no trace of the project is still being stored. Traces get their keys before they are committed,
/// so who follows new ones would miss one that a later one overtakes.
pub(super) async fn settled(db: &Db<'_>, project: &ProjectId) -> Result<i64, Fault> {
    let Some(project) = projects::key_alone(db, project).await? else {
        return Ok(0);
    };
    let last = "SELECT max(key) FROM trace WHERE project = $1";
    let last: Option<i64> = db.one(last, &params![project]).await?.first()?;
    Ok(last.unwrap_or(0))
}

/// A page of traces up to the key `end`.
pub(super) async fn list(
    db: &Db<'_>,
    project: &ProjectId,
    list: &ListTraces,
    end: i64,
) -> Result<Page<Undecoded<Trace>>, Fault> {
    let (field, named, start, side, order) = if list.is_oldest_first() {
        ("after", &list.after, 0, "t.key > $2", "t.key")
    } else {
        ("before", &list.before, i64::MAX, "t.key < $2", "t.key DESC")
    };
    let project = projects::key(db, project).await?;
    let named = (field, named.as_ref().map(TraceId::as_str));
    let start = projects::cursor(db, project, projects::TRACES, named, start).await?;
    let Some(project) = project else {
        return Ok(Page::default());
    };
    let reviewed = match list.review_status {
        Some(ReviewStatus::Pending) => "AND NOT t.reviewed",
        Some(ReviewStatus::Reviewed) => "AND t.reviewed",
        _ => "",
    };
    // As a literal, because a partial index is used for nothing else.
    let ingested = match list.ingest_status {
        Some(IngestStatus::Queued) => &format!("AND {STATUS} = 'queued'"),
        Some(IngestStatus::Processing) => &format!("AND {STATUS} = 'processing'"),
        Some(IngestStatus::Completed) => "AND t.ingest_status = 'completed'",
        Some(IngestStatus::Failed) => "AND t.ingest_status = 'failed'",
        _ => "",
    };
    // Left out, because an index is not used for a condition that may hold without it.
    let session = match list.session_id {
        Some(_) => "AND t.session_id = $5",
        None => "AND $5::text IS NULL",
    };
    let limit = list.limit.unwrap_or(ListTraces::DEFAULT_LIMIT) as usize;
    // One more than the limit shows whether another page follows.
    let select = format!(
        "SELECT {TRACE} FROM trace t {CURRENT} WHERE t.project = $1 AND {side} AND t.key <= $4 \
             {reviewed} {ingested} {session} ORDER BY {order} LIMIT $3"
    );
    let (mut page, mut bytes) = (Page::default(), 0);
    let most = limit + 1;
    let values = params![project, start, most, end, list.session_id];
    db.read_until(&select, &values, |found| {
        if page.items.len() == limit || bytes > PAGE_BYTES {
            page.more = true;
            return Ok(ControlFlow::Break(()));
        }
        bytes += found.bytes();
        page.items.push(read(&found)?);
        Ok(ControlFlow::Continue(()))
    })
    .await?;
    Ok(page)
}

pub(super) async fn delete(
    db: &Db<'_>,
    project: &ProjectId,
    deletion: &TraceDeletion,
) -> Result<DeletedTraces, Fault> {
    let mut gone = DeletedTraces::default();
    let Some(project) = projects::lock(db, project).await? else {
        return Ok(gone);
    };
    for id in &deletion.ids {
        let select = "SELECT key, key_id, metadata FROM trace WHERE project = $1 AND id = $2";
        let Some(found) = db.first(select, &params![project, id]).await? else {
            continue;
        };
        let (key, recorded_with): (i64, Option<KeyId>) = (found.get("key")?, found.get("key_id")?);
        if deletion.author.is_some() && recorded_with != deletion.author {
            return Err(Error::OthersTrace(id.clone()).into());
        }
        if deletion.with_memories {
            for memory in memories_of(db, project, key, deletion.teacher.as_ref()).await? {
                let by = deletion.key_id.as_ref();
                if !memory_edits::delete_in(db, project, &memory, by, deletion.at).await? {
                    // It is withdrawn.
                    memory_writes::remove(db, project, &[&memory]).await?;
                }
            }
        }
        trace_labels::delete(db, project, key, &found.json("metadata")?).await?;
        past_reviews::keep_of_deleted(db, project, key, id).await?;
        let delete = "DELETE FROM trace WHERE project = $1 AND key = $2";
        db.execute(delete, &params![project, key]).await?;
        gone.deleted += 1;
        gone.trace_ids.push(id.clone());
    }
    Ok(gone)
}

/// The memories learned from a trace, also those of withdrawn reviews. With a `teacher`, only those whose every review
/// was given with that key.
async fn memories_of(
    db: &Db<'_>,
    project: i64,
    trace: i64,
    teacher: Option<&KeyId>,
) -> Result<Vec<MemoryId>, Fault> {
    db.column(
        "SELECT m.id FROM memory m WHERE m.project = $1 AND m.id IN ( \
             SELECT created_memory FROM trace WHERE project = $1 AND key = $2 \
             UNION SELECT memory_id FROM review WHERE project = $1 AND trace = $2 AND state = 'past') \
         AND ($3::text IS NULL OR (m.key_id IS NOT DISTINCT FROM $3 AND NOT EXISTS ( \
             SELECT 1 FROM review p WHERE p.project = $1 AND p.trace = $2 AND p.state = 'past' \
                 AND p.memory_id = m.id AND p.key_id IS DISTINCT FROM $3)))",
        &params![project, trace, teacher],
    )
    .await
}
