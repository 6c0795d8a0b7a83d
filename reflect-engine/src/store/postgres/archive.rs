//! Export and import of a project.

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{
    ArchivedMemory, ArchivedTrace, Arm, IngestStatus, KeyId, MemoryId, MemoryStatus, ProjectId,
    Review, ReviewStatus, Reviewer, Skill, TraceId,
};

use super::fault::Fault;
use super::revisions::next_revisions;
use super::row::TRACE_COLUMNS;
use super::sql::Db;
use super::transaction::{read, write};
use super::value::params;
use super::{
    Postgres, asides, events, histories, jobs, memories, memory_changes, past_reviews, projects,
    reviews, row, trace_labels, traces, undo_records, vectors, words,
};
use crate::clock;
use crate::error::{Error, Result};
use crate::store::sketches::{task_sketch, text_sketch};
use crate::store::{Archive, EmbeddedPiece, JobKind, Undecoded, page, restored};

#[async_trait]
impl Archive for Postgres {
    async fn archived_traces_json(
        &self,
        project: &ProjectId,
        after: Option<&TraceId>,
        limit: usize,
    ) -> Result<Vec<Undecoded<ArchivedTrace>>> {
        read!(self, |db| traces(db, project, after, limit))
    }

    async fn archived_memories(
        &self,
        project: &ProjectId,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<ArchivedMemory>> {
        read!(self, |db| memories(db, project, after, limit))
    }

    async fn restore(
        &self,
        project: &ProjectId,
        creates_project: bool,
        pieces: Vec<EmbeddedPiece>,
        now: Timestamp,
    ) -> Result<u64> {
        write!(self, |db| restore(
            db,
            project,
            creates_project,
            &pieces,
            now
        ))
    }
}

async fn traces(
    db: &Db<'_>,
    project: &ProjectId,
    after: Option<&TraceId>,
    limit: usize,
) -> Result<Vec<Undecoded<ArchivedTrace>>, Fault> {
    let row = projects::existing(db, project).await?;
    let after = match after {
        Some(id) => row::trace_key(db, project, id)
            .await?
            .ok_or_else(|| Error::unknown_cursor("after", "trace", id.as_str()))?,
        None => 0,
    };
    let limit = row::limit(limit);
    let select = format!(
        "SELECT {}, t.idempotency_key, t.receipt, r.alpha, r.reflection, r.created_at, \
             EXISTS (SELECT 1 FROM queue j WHERE j.trace = t.key AND j.kind = 'reflection'), t.key \
         FROM trace t LEFT JOIN review r ON r.trace = t.key \
         WHERE t.project = $1 AND t.key > $2 ORDER BY t.key LIMIT $3",
        row::TRACE
    );
    let values = params![row, after, limit];
    let rows = db.query_up_to(page::PAGE_BYTES, &select, values).await?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    for row in &rows {
        if bytes > page::PAGE_BYTES {
            break;
        }
        bytes += row.bytes();
        let judgement = row::judgement(row, TRACE_COLUMNS + 2)?;
        let (idempotency_key, receipt) =
            (row.get(TRACE_COLUMNS)?, row::name(row, TRACE_COLUMNS + 1)?);
        let is_queued: bool = row.get(TRACE_COLUMNS + 5)?;
        let past_reviews = past_reviews::of_trace(db, row.get(TRACE_COLUMNS + 6)?).await?;
        bytes += page::reviews_bytes(&past_reviews);
        found.push(row::undecoded_trace(row)?.map(|mut trace| {
            if is_queued {
                // Also a failed trace that will be retried automatically.
                trace.ingest_status = IngestStatus::Queued;
            }
            ArchivedTrace {
                trace,
                idempotency_key,
                receipt,
                judgement,
                past_reviews,
            }
        }));
    }
    Ok(found)
}

pub(super) async fn memories(
    db: &Db<'_>,
    project: &ProjectId,
    after: Option<&MemoryId>,
    limit: usize,
) -> Result<Vec<ArchivedMemory>, Fault> {
    let project = projects::existing(db, project).await?;
    let after: i64 = match after {
        Some(id) => db
            .value(
                "SELECT key FROM memory WHERE id = $1 AND project = $2",
                params![id.as_str(), project],
            )
            .await?
            .ok_or_else(|| Error::unknown_cursor("after", "memory", id.as_str()))?,
        None => 0,
    };
    let limit = row::limit(limit);
    let select = format!(
        "SELECT {}, m.generation FROM memory m WHERE m.project = $1 AND m.key > $2 \
         ORDER BY m.key LIMIT $3",
        row::MEMORY
    );
    let values = params![project, after, limit];
    let rows = db.query_up_to(page::PAGE_BYTES, &select, values).await?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    for portion in rows.chunks(histories::PORTION) {
        for (row, memory) in portion.iter().zip(histories::archived(db, portion).await?) {
            if bytes > page::PAGE_BYTES {
                return Ok(found);
            }
            bytes += memories::page_bytes(row, &memory.history, memory.set_aside.len());
            found.push(memory);
        }
    }
    Ok(found)
}

pub(super) async fn restore(
    db: &Db<'_>,
    project: &ProjectId,
    creates_project: bool,
    pieces: &[EmbeddedPiece],
    now: Timestamp,
) -> Result<u64, Fault> {
    let key = projects::key_to_fill(db, project, creates_project).await?;
    projects::lock_key(db, key).await?;
    let memories = pieces.iter();
    let memories = memories.filter(|piece| matches!(piece, EmbeddedPiece::Memory { .. }));
    let count = i64::try_from(memories.count()).unwrap_or(i64::MAX);
    let mut revisions = next_revisions(db, key, count).await?..;
    let mut stored = 0;
    for piece in pieces {
        let new = match piece {
            EmbeddedPiece::Trace(archived) => restore_trace(db, key, archived, now).await?,
            EmbeddedPiece::Memory {
                memory,
                embedder,
                vector,
            } => {
                let revision = revisions.next().unwrap_or_default();
                restore_memory(db, (key, revision), memory, (embedder, vector), now).await?
            }
            EmbeddedPiece::Skill(skill) => restore_skill(db, key, skill).await?,
            EmbeddedPiece::Undo(record) => undo_records::insert(db, key, record).await?,
        };
        stored += u64::from(new);
    }
    Ok(stored)
}

async fn restore_trace(
    db: &Db<'_>,
    project: i64,
    archived: &ArchivedTrace,
    now: Timestamp,
) -> Result<bool, Fault> {
    let trace = &archived.trace;
    if present(db, trace.id.as_str(), project).await? {
        return Ok(false);
    }
    let taken = match &archived.idempotency_key {
        Some(name) => traces::receipt(db, project, name).await?.is_some(),
        None => false,
    };
    let name = archived.idempotency_key.as_ref().filter(|_| !taken);
    let status = restored::status(archived);
    let withdrawn = restored::withdrawn_verdict(archived);
    let key: i64 = db
        .one(
            "INSERT INTO trace (project, id, idempotency_key, receipt, reviewed, \
             ingest_status, ingest_attempts, last_ingest_error, created_memory, model, \
             metadata, retrieved, ignored, created_at, task, final_response, \
             reference_context, trajectory, withdrawn_model, withdrawn_verdict, key_id, \
             arm, task_words) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
             $17, $18, $19, $20, $21, $22, strip(to_tsvector('simple', $23))) RETURNING key",
            params![
                project,
                trace.id.as_str(),
                name,
                archived.receipt.as_str(),
                trace.review_status == ReviewStatus::Reviewed,
                status.as_str(),
                trace.ingest_attempts,
                trace
                    .last_ingest_error
                    .as_ref()
                    .or(trace.judge_error.as_ref()),
                trace.created_memory_id.as_ref().map(MemoryId::as_str),
                trace.model,
                row::to_json(&trace.metadata)?,
                row::to_json(&trace.retrieved_memory_ids)?,
                row::to_json(&trace.ignored_memory_ids)?,
                trace.created_at.clone().unwrap_or_else(|| clock::text(now)),
                trace.task,
                trace.final_response,
                trace.reference_context,
                row::to_json(&trace.trajectory)?,
                withdrawn.as_ref().map(|verdict| &verdict.model),
                withdrawn.as_ref().map(|verdict| verdict.result.as_str()),
                trace.key_id.as_ref().map(KeyId::as_str),
                trace.arm.as_ref().map(Arm::as_str),
                words::of(&trace.task),
            ],
        )
        .await?
        .get(0)?;
    trace_labels::insert(db, project, key, &trace.metadata).await?;
    if let Some(review) = restored::review(archived, now) {
        reviews::put(db, key, &review).await?;
    }
    past_reviews::insert(db, key, &archived.past_reviews).await?;
    if status == IngestStatus::Queued {
        jobs::queue(db, JobKind::Reflection, key, now).await?;
    }
    Ok(true)
}

async fn restore_memory(
    db: &Db<'_>,
    (project, revision): (i64, i64),
    archived: &ArchivedMemory,
    (embedder, vector): (&str, &[f32]),
    now: Timestamp,
) -> Result<bool, Fault> {
    let ArchivedMemory {
        history,
        generation,
        set_aside,
    } = archived;
    let memory = &history.memory;
    let aside = memory.aside.as_ref();
    match memories::status(db, project, &memory.id).await?.as_deref() {
        None => {}
        Some("withdrawn") if memory.status != MemoryStatus::Withdrawn => {
            memories::remove(db, project, &memory.id).await?;
        }
        Some(_) => return Ok(false),
    }
    let key: i64 = db
        .one(
            "INSERT INTO memory (project, id, trace_id, success, q, uses, revision, \
             created_at, metadata, task, reflection, status, key_id, reviewer_model, \
             generation, given, alpha, aside, aside_reason, aside_at, aside_into, task_sketch, \
             text_sketch, needs_approval) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, \
             $12, $13, $14, $15, coalesce(nullif($16::text, '[]'), ( SELECT t.retrieved FROM \
             trace t WHERE t.project = $1 AND t.id = $3), '[]'), coalesce($17::float8, ( \
             SELECT r.alpha FROM trace t JOIN review r ON r.trace = t.key WHERE t.project = \
             $1 AND t.id = $3), $18), $19, $20, $21, (SELECT x.key FROM memory x WHERE \
             x.project = $1 AND x.id = $22), $23, $24, $25) RETURNING key",
            params![
                project,
                memory.id.as_str(),
                memory.trace_id.as_str(),
                memory.success,
                memory.q_value,
                row::stored_count(memory.uses),
                revision,
                memory.created_at,
                row::to_json(&memory.metadata)?,
                memory.task,
                row::to_json(&memory.reflection)?,
                match aside {
                    Some(_) => MemoryStatus::Active.as_str(),
                    None => memory.status.as_str(),
                },
                memory.key_id.as_ref().map(KeyId::as_str),
                memory.reviewer.as_ref().and_then(Reviewer::model_name),
                row::stored_count(*generation),
                // An archive of an older version has them in its traces only.
                row::to_json(&memory.retrieved_memory_ids)?,
                memory.alpha,
                Review::DEFAULT_ALPHA,
                aside.map(|_| memory.status.as_str()),
                aside.map(|aside| &aside.reason),
                aside.map(|aside| &aside.since),
                memory.merged_into.as_ref().map(MemoryId::as_str),
                task_sketch(&memory.task),
                text_sketch(&memory.reflection),
                memory.status == MemoryStatus::Staged,
            ],
        )
        .await?
        .get(0)?;
    vectors::put(db, key, embedder, vector, now).await?;
    let mut aside = set_aside.iter().peekable();
    for (position, event) in (0..).zip(&history.events) {
        while let Some(earlier) = aside.next_if(|aside| aside.position <= position) {
            events::insert(db, key, &earlier.event, true).await?;
        }
        events::insert(db, key, event, false).await?;
    }
    for later in aside {
        events::insert(db, key, &later.event, true).await?;
    }
    let (id, changes) = (&memory.id, &history.changes);
    memory_changes::import(db, project, id, *generation, changes).await?;
    asides::touch_merged(db, project, id).await?;
    Ok(true)
}

async fn restore_skill(db: &Db<'_>, project: i64, skill: &Skill) -> Result<bool, Fault> {
    let stored = db
        .execute(
            "INSERT INTO skill (project, version, created_at, sources, content) VALUES ($1, \
             $2, $3, $4, $5) ON CONFLICT (project) DO NOTHING",
            params![
                project,
                skill.version.cast_signed(),
                skill.created_at.clone().unwrap_or_default(),
                row::to_json(&skill.source_memory_ids)?,
                skill.content,
            ],
        )
        .await?;
    Ok(stored > 0)
}

/// Whether the project has this trace.
async fn present(db: &Db<'_>, id: &str, project: i64) -> Result<bool, Fault> {
    Ok(db
        .first(
            "SELECT 1 FROM trace WHERE project = $1 AND id = $2",
            params![project, id],
        )
        .await?
        .is_some())
}
