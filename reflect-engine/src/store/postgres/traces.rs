//! Traces.

use std::ops::ControlFlow;

use reflect_types::{
    Arm, DeletedTraces, IngestStatus, KeyId, ListTraces, MemoryId, Page, ProjectId, ReviewStatus,
    Reviewer, Trace, TraceId, TraceReceipt,
};

use super::fault::Fault;
use super::sql::Db;
use super::standings::TraceRow;
use super::value::params;
use super::{
    deleted_reviews, jobs, memories, memory_edits, projects, reviews, row, standings, trace_labels,
    undone, words,
};
use crate::clock;
use crate::error::Error;
use crate::review::{self, Teacher};
use crate::store::encoded_trace::EncodedTrace;
use crate::store::page::PAGE_BYTES;
use crate::store::{Intake, JobKind, NewTrace, TraceDeletion, Undecoded};

/// Inserts a trace into the project of this [key](projects::key_to_fill), or finds the one with its idempotency key.
pub(super) async fn insert(
    db: &Db<'_>,
    project: i64,
    encoded: &EncodedTrace,
    intake: &Intake,
) -> Result<TraceReceipt, Fault> {
    let trace = &encoded.trace;
    if matches!(intake, Intake::Learned(_)) {
        projects::lock_key(db, project).await?;
    }
    let is_undone = is_undone(db, project, trace, intake).await?;
    let intake = if is_undone {
        &Intake::Unreviewed
    } else {
        intake
    };
    let ingest_status = intake.ingest_status();
    let inserted = db
        .value(
            "INSERT INTO trace (project, id, idempotency_key, receipt, ingest_status, model, \
             metadata, retrieved, created_at, task, final_response, reference_context, \
             trajectory, key_id, arm, task_words) VALUES ($1, $2, $3, $4, $4, $5, $6, $7, $8, $9, $10, $11, \
             $12, $13, $14, strip(to_tsvector('simple', $15))) ON CONFLICT (project, idempotency_key) WHERE idempotency_key IS NOT \
             NULL DO NOTHING RETURNING key",
            params![
                project,
                trace.id.as_str(),
                trace.idempotency_key,
                ingest_status.as_str(),
                trace.model,
                encoded.metadata,
                encoded.retrieved,
                clock::text(trace.created_at),
                trace.task,
                trace.final_response,
                trace.reference_context,
                encoded.trajectory,
                trace.key_id.as_ref().map(KeyId::as_str),
                trace.arm.as_ref().map(Arm::as_str),
                words::of(&trace.task),
            ],
        )
        .await?;
    let key: i64 = match (inserted, &trace.idempotency_key) {
        (Some(key), _) => key,
        // It was submitted before.
        (None, Some(name)) => {
            let first = receipt(db, project, name).await?;
            return first.ok_or_else(|| Fault::Data("a submission is gone".to_owned()));
        }
        (None, None) => return Err(Fault::Data("a trace was not inserted".to_owned())),
    };
    trace_labels::insert(db, project, key, &trace.metadata).await?;
    match intake {
        Intake::Unreviewed if is_undone => jobs::park(db, JobKind::Judgement, key).await?,
        Intake::Unreviewed => {}
        Intake::Unjudged => jobs::queue(db, JobKind::Judgement, key, trace.created_at).await?,
        Intake::Queued(review) => {
            reviews::put(db, key, review).await?;
            jobs::queue(db, JobKind::Reflection, key, trace.created_at).await?;
        }
        Intake::Learned(learned) => {
            let row = TraceRow {
                key,
                project,
                id: trace.id.clone(),
            };
            let given = standings::given(db, project, trace.retrieved_memory_ids.clone()).await?;
            let changes = review::decide_new(given, learned.clone())?;
            reviews::write(db, &row, &changes).await?;
        }
    }
    Ok(TraceReceipt {
        trace_id: trace.id.clone(),
        ingest_status,
    })
}

/// Whether an undo that covers the review of a new trace, or its judgement, came since.
async fn is_undone(
    db: &Db<'_>,
    project: i64,
    trace: &NewTrace,
    intake: &Intake,
) -> Result<bool, Fault> {
    let (teacher, at) = match intake {
        Intake::Unreviewed => return Ok(false),
        Intake::Unjudged => {
            // The judge's name is not known here: an undo of all that the key has taught covers any.
            let reviewer = Reviewer::Model(String::new());
            let key_id = trace.key_id.clone();
            (Teacher { key_id, reviewer }, trace.created_at)
        }
        Intake::Queued(review) => (review.teacher(), review.created_at),
        Intake::Learned(learned) => (learned.review.teacher(), learned.review.created_at),
    };
    let undone = undone::of_trace(db, project, &trace.id).await?;
    Ok(undone.iter().any(|undo| undo.covers(&teacher, at)))
}

pub(super) async fn receipt(
    db: &Db<'_>,
    project: i64,
    key: &str,
) -> Result<Option<TraceReceipt>, Fault> {
    let first = db
        .first(
            "SELECT id, receipt FROM trace WHERE project = $1 AND idempotency_key = $2",
            params![project, key],
        )
        .await?;
    let receipt = first.map(|row| {
        Ok(TraceReceipt {
            trace_id: TraceId::new(row.get::<String>(0)?),
            ingest_status: row::name(&row, 1)?,
        })
    });
    receipt.transpose()
}

pub(super) async fn get(
    db: &Db<'_>,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<Undecoded<Trace>>, Fault> {
    let rows = db
        .query(
            &format!(
                "SELECT {} FROM trace t JOIN project p ON p.key = t.project \
         LEFT JOIN review r ON r.trace = t.key WHERE t.id = $1 AND p.id = $2",
                row::TRACE
            ),
            params![id.as_str(), project.as_str()],
        )
        .await?;
    rows.first().map(row::undecoded_trace).transpose()
}

/// The key up to which no trace of the project is still being stored. Traces get their keys before they
/// are committed, so who follows new ones would miss one that a later one overtakes.
pub(super) async fn settled(db: &Db<'_>, project: &ProjectId) -> Result<i64, Fault> {
    let Some(project) = projects::key_alone(db, project).await? else {
        return Ok(0);
    };
    let last = "SELECT max(key) FROM trace WHERE project = $1";
    let last: Option<i64> = db.one(last, params![project]).await?.get(0)?;
    Ok(last.unwrap_or(0))
}

/// A page of traces up to the key `end`.
pub(super) async fn list(
    db: &Db<'_>,
    project: &ProjectId,
    list: &ListTraces,
    end: i64,
) -> Result<Page<Undecoded<Trace>>, Fault> {
    let (field, cursor, start, side, order) = if list.is_oldest_first() {
        ("after", &list.after, 0, "t.key > $2", "t.key")
    } else {
        ("before", &list.before, i64::MAX, "t.key < $2", "t.key DESC")
    };
    let start = match cursor {
        Some(id) => row::trace_key(db, project, id)
            .await?
            .ok_or_else(|| Error::unknown_cursor(field, "trace", id.as_str()))?,
        None => start,
    };
    let Some(project) = projects::key(db, project).await? else {
        return Ok(Page::default());
    };
    let reviewed = match list.review_status {
        Some(ReviewStatus::Pending) => "AND NOT t.reviewed",
        Some(ReviewStatus::Reviewed) => "AND t.reviewed",
        _ => "",
    };
    // As a literal, because a partial index is used for nothing else.
    let ingested = match list.ingest_status {
        Some(IngestStatus::Queued) => &format!("AND {} = 'queued'", row::STATUS),
        Some(IngestStatus::Processing) => &format!("AND {} = 'processing'", row::STATUS),
        Some(IngestStatus::Completed) => "AND t.ingest_status = 'completed'",
        Some(IngestStatus::Failed) => "AND t.ingest_status = 'failed'",
        _ => "",
    };
    let limit = list.limit.unwrap_or(ListTraces::DEFAULT_LIMIT) as usize;
    // One more than the limit shows whether another page follows.
    let select = format!(
        "SELECT {} FROM trace t LEFT JOIN review r ON r.trace = t.key \
         WHERE t.project = $1 AND {side} AND t.key <= $4 {reviewed} {ingested} ORDER BY {order} LIMIT $3",
        row::TRACE
    );
    let (mut page, mut bytes) = (Page::default(), 0);
    let rows = row::limit(limit + 1);
    let values = params![project, start, rows, end];
    db.read_until(&select, values, |found| {
        if page.items.len() == limit || bytes > PAGE_BYTES {
            page.more = true;
            return Ok(ControlFlow::Break(()));
        }
        bytes += found.bytes();
        page.items.push(row::undecoded_trace(&found)?);
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
        let found = db
            .first(
                "SELECT key, key_id, metadata FROM trace WHERE id = $1 AND project = $2",
                params![id.as_str(), project],
            )
            .await?;
        let Some(found) = found else {
            continue;
        };
        let (key, recorded_with) = (found.get::<i64>(0)?, found.get::<Option<String>>(1)?);
        let metadata = row::json(&found, 2)?;
        let author = deletion.author.as_ref().map(KeyId::as_str);
        if author.is_some() && recorded_with.as_deref() != author {
            return Err(Error::OthersTrace(id.clone()).into());
        }
        if deletion.with_memories {
            for memory in memories_of(db, project, key, deletion.teacher.as_ref()).await? {
                let by = deletion.key_id.as_ref();
                if !memory_edits::delete_in(db, project, &memory, by, deletion.at).await? {
                    // It is withdrawn.
                    memories::remove(db, project, &memory).await?;
                }
            }
        }
        trace_labels::delete(db, project, key, &metadata).await?;
        deleted_reviews::keep(db, key).await?;
        db.execute("DELETE FROM trace WHERE key = $1", params![key])
            .await?;
        gone.deleted += 1;
        gone.trace_ids.push(id.clone());
    }
    Ok(gone)
}

/// The memories learned from a trace, also those of withdrawn reviews. With a `teacher`, only those
/// whose every review was given with that key.
async fn memories_of(
    db: &Db<'_>,
    project: i64,
    trace: i64,
    teacher: Option<&KeyId>,
) -> Result<Vec<MemoryId>, Fault> {
    let teacher = teacher.map(KeyId::as_str);
    let ids: Vec<String> = db
        .column(
            "SELECT m.id FROM memory m WHERE m.project = $1 AND m.id IN ( SELECT \
             created_memory FROM trace WHERE key = $2 UNION SELECT memory_id FROM past_review \
             WHERE trace = $2) AND ($3::text IS NULL OR (m.key_id IS NOT DISTINCT FROM $3 AND \
             NOT EXISTS (SELECT 1 FROM past_review p WHERE p.trace = $2 AND p.memory_id = \
             m.id AND p.key_id IS DISTINCT FROM $3)))",
            params![project, trace, teacher],
        )
        .await?;
    Ok(ids.into_iter().map(MemoryId::new).collect())
}
