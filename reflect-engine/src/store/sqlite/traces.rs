//! Traces.

use reflect_types::{
    Arm, DeletedTraces, IngestStatus, KeyId, ListTraces, MemoryId, Metadata, Page, ProjectId,
    ReviewStatus, Reviewer, Trace, TraceId, TraceReceipt,
};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::fault::Fault;
use super::reviews::TraceRow;
use super::{
    deleted_reviews, jobs, memories, memory_edits, projects, reviews, row, trace_labels, undone,
};
use crate::clock;
use crate::error::Error;
use crate::review::{self, Teacher};
use crate::store::encoded_trace::EncodedTrace;
use crate::store::page::PAGE_BYTES;
use crate::store::{Intake, JobKind, NewTrace, TraceDeletion, Undecoded};

pub(super) fn insert(
    db: &Connection,
    project: &ProjectId,
    encoded: &EncodedTrace,
    intake: &Intake,
) -> Result<TraceReceipt, Fault> {
    let trace = &encoded.trace;
    let project = projects::row(db, project, trace.creates_project)?;
    if let Some(key) = &trace.idempotency_key
        && let Some(first) = receipt(db, project, key)?
    {
        return Ok(first);
    }
    let is_undone = is_undone(db, project, trace, intake)?;
    let intake = if is_undone {
        &Intake::Unreviewed
    } else {
        intake
    };
    let ingest_status = intake.ingest_status();
    db.prepare_cached(
        "INSERT INTO trace (project, id, idempotency_key, receipt, ingest_status, model, metadata, \
             retrieved, created_at, task, final_response, reference_context, trajectory, key_id, arm) \
         VALUES (:project, :id, :idempotency_key, :status, :status, :model, :metadata, \
             :retrieved, :created_at, :task, :final_response, :reference_context, :trajectory, \
             :key_id, :arm)",
    )?
    .execute(named_params! {
        ":project": project,
        ":id": trace.id.as_str(),
        ":idempotency_key": trace.idempotency_key,
        ":status": ingest_status.as_str(),
        ":model": trace.model,
        ":metadata": encoded.metadata,
        ":retrieved": encoded.retrieved,
        ":created_at": clock::text(trace.created_at),
        ":task": trace.task,
        ":final_response": trace.final_response,
        ":reference_context": trace.reference_context,
        ":trajectory": encoded.trajectory,
        ":key_id": trace.key_id.as_ref().map(KeyId::as_str),
        ":arm": trace.arm.as_ref().map(Arm::as_str),
    })?;
    let key = db.last_insert_rowid();
    make_searchable(db, key, project, &trace.task)?;
    trace_labels::insert(db, project, key, &trace.metadata)?;
    match intake {
        Intake::Unreviewed if is_undone => jobs::park(db, JobKind::Judgement, key)?,
        Intake::Unreviewed => {}
        Intake::Unjudged => jobs::add(db, JobKind::Judgement, key, trace.created_at, 0)?,
        Intake::Queued(review) => {
            reviews::insert(db, key, review)?;
            jobs::add(db, JobKind::Reflection, key, trace.created_at, 0)?;
        }
        Intake::Learned(learned) => {
            let row = TraceRow {
                key,
                project,
                id: trace.id.clone(),
            };
            let given = reviews::given(db, project, trace.retrieved_memory_ids.clone())?;
            let changes = review::decide_new(given, learned.clone())?;
            reviews::write(db, &row, &changes)?;
        }
    }
    Ok(TraceReceipt {
        trace_id: trace.id.clone(),
        ingest_status,
    })
}

/// Adds a task to the text index. A trigger could do it, but a statement with triggers runs in a savepoint,
/// and the index writes all it has gathered at each of them.
pub(super) fn make_searchable(
    db: &Connection,
    key: i64,
    project: i64,
    task: &str,
) -> Result<(), Fault> {
    db.prepare_cached("INSERT INTO trace_text (rowid, project, task) VALUES (?1, ?2, ?3)")?
        .execute(params![key, project, task])?;
    Ok(())
}

/// Whether an undo that covers the review of a new trace, or its judgement, came since.
fn is_undone(
    db: &Connection,
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
    let undone = undone::of_trace(db, project, &trace.id)?;
    Ok(undone.iter().any(|undo| undo.covers(&teacher, at)))
}

pub(super) fn receipt(
    db: &Connection,
    project: i64,
    key: &str,
) -> Result<Option<TraceReceipt>, Fault> {
    let first = db
        .prepare_cached(
            "SELECT id, receipt FROM trace WHERE project = ?1 AND idempotency_key = ?2",
        )?
        .query_row(params![project, key], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        })
        .optional()?;
    Ok(first.map(|(id, status)| TraceReceipt {
        trace_id: TraceId::new(id),
        ingest_status: IngestStatus::from(status.as_str()),
    }))
}

pub(super) fn get(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<Undecoded<Trace>>, Fault> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM trace t JOIN project p ON p.key = t.project \
         LEFT JOIN review r ON r.trace = t.key WHERE t.id = ?1 AND p.id = ?2",
        row::TRACE
    ))?;
    let mut rows = select.query([id.as_str(), project.as_str()])?;
    rows.next()?.map(row::undecoded_trace).transpose()
}

pub(super) fn list(
    db: &Connection,
    project: &ProjectId,
    list: &ListTraces,
) -> Result<Page<Undecoded<Trace>>, Fault> {
    let (field, cursor, start, page, order) = if list.is_oldest_first() {
        ("after", &list.after, 0, "t.key > ?2", "t.key")
    } else {
        ("before", &list.before, i64::MAX, "t.key < ?2", "t.key DESC")
    };
    let start = match cursor {
        Some(id) => row::trace_key(db, project, id)?
            .ok_or_else(|| Error::unknown_cursor(field, "trace", id.as_str()))?,
        None => start,
    };
    let Some(project) = projects::key(db, project)? else {
        return Ok(Page::default());
    };
    let reviewed = match list.review_status {
        Some(ReviewStatus::Pending) => "AND t.reviewed = 0",
        Some(ReviewStatus::Reviewed) => "AND t.reviewed = 1",
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
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM trace t LEFT JOIN review r ON r.trace = t.key \
         WHERE t.project = ?1 AND {page} {reviewed} {ingested} ORDER BY {order} LIMIT ?3",
        row::TRACE
    ))?;
    // One more than the limit shows whether another page follows.
    let mut rows = select.query(params![project, start, row::limit(limit + 1)])?;
    let (mut traces, mut bytes) = (Vec::new(), 0);
    while let Some(found) = rows.next()? {
        if traces.len() == limit || bytes > PAGE_BYTES {
            return Ok(Page {
                items: traces,
                more: true,
            });
        }
        bytes += row::trace_bytes(found)?;
        traces.push(row::undecoded_trace(found)?);
    }
    Ok(traces.into())
}

pub(super) fn delete(
    db: &Connection,
    project: &ProjectId,
    deletion: &TraceDeletion,
) -> Result<DeletedTraces, Fault> {
    let mut gone = DeletedTraces::default();
    let Some(project) = projects::key(db, project)? else {
        return Ok(gone);
    };
    for id in &deletion.ids {
        let Some((key, recorded_with, metadata)) = to_delete(db, project, id)? else {
            continue;
        };
        let author = deletion.author.as_ref().map(KeyId::as_str);
        if author.is_some() && recorded_with.as_deref() != author {
            return Err(Error::OthersTrace(id.clone()).into());
        }
        if deletion.with_memories {
            for memory in memories_of(db, project, key, deletion.teacher.as_ref())? {
                let by = deletion.key_id.as_ref();
                if !memory_edits::delete_in(db, project, &memory, by, deletion.at)? {
                    // It is withdrawn.
                    memories::remove(db, project, &memory)?;
                }
            }
        }
        trace_labels::delete(db, project, key, &metadata)?;
        deleted_reviews::keep(db, key)?;
        db.prepare_cached("DELETE FROM trace WHERE key = ?1")?
            .execute([key])?;
        gone.deleted += 1;
        gone.trace_ids.push(id.clone());
    }
    Ok(gone)
}

/// The key of a trace, the API key that recorded it, and its metadata.
fn to_delete(
    db: &Connection,
    project: i64,
    id: &TraceId,
) -> Result<Option<(i64, Option<String>, Metadata)>, Fault> {
    let mut select = db
        .prepare_cached("SELECT key, key_id, metadata FROM trace WHERE id = ?1 AND project = ?2")?;
    let mut rows = select.query(params![id.as_str(), project])?;
    let Some(found) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some((found.get(0)?, found.get(1)?, row::json(found, 2)?)))
}

/// The memories learned from a trace, also those of withdrawn reviews. With a `teacher`, only those
/// whose every review was given with that key.
fn memories_of(
    db: &Connection,
    project: i64,
    trace: i64,
    teacher: Option<&KeyId>,
) -> Result<Vec<MemoryId>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT m.id FROM memory m WHERE m.project = ?1 AND m.id IN ( \
             SELECT created_memory FROM trace WHERE key = ?2 UNION \
             SELECT memory_id FROM past_review WHERE trace = ?2) \
         AND (?3 IS NULL OR (m.key_id IS ?3 AND NOT EXISTS (SELECT 1 FROM past_review p \
             WHERE p.trace = ?2 AND p.memory_id = m.id AND p.key_id IS NOT ?3)))",
    )?;
    let teacher = teacher.map(KeyId::as_str);
    let ids = select.query_map(params![project, trace, teacher], |row| {
        Ok(MemoryId::new(row.get::<_, String>(0)?))
    })?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}
