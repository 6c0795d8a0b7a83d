//! Traces.

use reflect_types::{
    DeletedTraces, IngestStatus, InvalidField, KeyId, ListTraces, MemoryId, Page, ProjectId,
    ReviewStatus, Trace, TraceId, TraceReceipt,
};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::fault::Fault;
use super::reviews::TraceRow;
use super::{jobs, memories, projects, reviews, row, tending};
use crate::clock;
use crate::error::Error;
use crate::review::{self, Action, Basis, Standing};
use crate::store::{Intake, JobKind, NewTrace, TraceDeletion, Undecoded};

/// A trace with its JSON columns encoded.
pub(super) struct EncodedTrace {
    trace: NewTrace,
    trajectory: String,
    metadata: String,
    retrieved: String,
}

impl EncodedTrace {
    pub(super) fn new(trace: NewTrace) -> Result<Self, Fault> {
        Ok(Self {
            trajectory: readable("trajectory", row::to_json(&trace.trajectory)?)?,
            metadata: readable("metadata", row::to_json(&trace.metadata)?)?,
            retrieved: row::to_json(&trace.retrieved_memory_ids)?,
            trace,
        })
    }
}

/// Refuses JSON that is nested too deeply to be read back.
fn readable(field: &'static str, json: String) -> Result<String, Fault> {
    /// The limit of `serde_json` is 128.
    const DEEPEST: usize = 120;

    if row::depth(&json) > DEEPEST {
        let problem = format!("is nested more than {DEEPEST} levels deep: flatten it");
        return Err(Error::Invalid(InvalidField::new(field, problem)).into());
    }
    Ok(json)
}

pub(super) fn insert(
    db: &Connection,
    project: &ProjectId,
    encoded: &EncodedTrace,
    intake: Intake,
) -> Result<TraceReceipt, Fault> {
    let trace = &encoded.trace;
    let project = projects::row(db, project, trace.creates_project)?;
    if let Some(key) = &trace.idempotency_key
        && let Some(first) = receipt(db, project, key)?
    {
        return Ok(first);
    }
    let ingest_status = intake.ingest_status();
    db.prepare_cached(
        "INSERT INTO trace (project, id, idempotency_key, receipt, ingest_status, model, metadata, \
             retrieved, created_at, task, final_response, reference_context, trajectory, key_id) \
         VALUES (:project, :id, :idempotency_key, :status, :status, :model, :metadata, \
             :retrieved, :created_at, :task, :final_response, :reference_context, :trajectory, \
             :key_id)",
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
    })?;
    let key = db.last_insert_rowid();
    match intake {
        Intake::Unreviewed => {}
        Intake::Unjudged => jobs::queue(db, JobKind::Judgement, key, trace.created_at)?,
        Intake::Queued(review) => {
            reviews::put(db, key, &review)?;
            jobs::queue(db, JobKind::Reflection, key, trace.created_at)?;
        }
        Intake::Learned(learned) => {
            let row = TraceRow {
                key,
                project,
                id: trace.id.clone(),
            };
            let given = reviews::given(db, project, trace.retrieved_memory_ids.clone())?;
            let basis = Basis::Fresh;
            let decided = review::decide(
                Some(Standing::unreviewed(given)),
                Action::Learn { basis, learned },
            );
            let changes = decided.map_err(|refusal| Error::Internal {
                message: format!("the review of a new trace was refused: {refusal:?}"),
                source: None,
            })?;
            reviews::write(db, &row, &changes)?;
        }
    }
    Ok(TraceReceipt {
        trace_id: trace.id.clone(),
        ingest_status,
    })
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
        Some(IngestStatus::Queued) => "AND t.ingest_status = 'queued'",
        Some(IngestStatus::Processing) => "AND t.ingest_status = 'processing'",
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
        if traces.len() == limit || bytes > row::PAGE_BYTES {
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
        let found = db
            .prepare_cached(
                "SELECT key, key_id, created_memory FROM trace WHERE id = ?1 AND project = ?2",
            )?
            .query_row(params![id.as_str(), project], |row| {
                Ok((
                    row.get::<_, i64>(0)?,
                    row.get::<_, Option<String>>(1)?,
                    row.get::<_, Option<String>>(2)?,
                ))
            })
            .optional()?;
        let Some((key, recorded_with, memory)) = found else {
            continue;
        };
        let author = deletion.author.as_ref().map(KeyId::as_str);
        if author.is_some() && recorded_with.as_deref() != author {
            return Err(Error::OthersTrace(id.clone()).into());
        }
        forget_withdrawn(db, project, key, id)?;
        db.prepare_cached("DELETE FROM trace WHERE key = ?1")?
            .execute([key])?;
        if let (true, Some(memory)) = (deletion.with_memories, memory) {
            let (memory, by) = (MemoryId::new(memory), deletion.key_id.as_ref());
            tending::delete_in(db, project, &memory, by, deletion.at)?;
        }
        gone.deleted += 1;
        gone.trace_ids.push(id.clone());
    }
    Ok(gone)
}

/// Deletes what withdrawn reviews of a trace have left: without the trace they cannot come back. What
/// its standing review has taught stays, and so does the name of its teacher.
fn forget_withdrawn(db: &Connection, project: i64, trace: i64, id: &TraceId) -> Result<(), Fault> {
    let withdrawn: Vec<String> = db
        .prepare_cached(
            "SELECT DISTINCT m.id FROM past_review r JOIN memory m ON m.id = r.memory_id \
             WHERE r.trace = ?1 AND m.project = ?2 AND m.status = 'withdrawn'",
        )?
        .query_map([trace, project], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for memory in withdrawn {
        memories::remove(db, project, &MemoryId::new(memory))?;
    }
    db.prepare_cached(
        "DELETE FROM utility_event WHERE aside = 1 AND trace_id = ?1 AND review_id IN \
             (SELECT id FROM past_review WHERE trace = ?2)",
    )?
    .execute(params![id.as_str(), trace])?;
    Ok(())
}
