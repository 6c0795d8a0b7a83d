//! Import of an archive.

use jiff::Timestamp;
use reflect_types::{
    ArchivedMemory, ArchivedTrace, IngestStatus, MemoryStatus, ProjectId, Review, ReviewStatus,
};

use super::db::Db;
use super::fault::Fault;
use super::row::to_json;
use super::value::{Rows, params};
use super::{
    events, hiding, jobs, memory_changes, memory_rows, memory_writes, new_traces, past_reviews,
    projects, reviews, skills, trace_labels, traces, undo_records, vectors,
};
use crate::clock;
use crate::review::NewReview;
use crate::store::sketches::{task_sketch, text_sketch};
use crate::store::{EmbeddedPiece, JobKind, MemoryKey, VectorSpace, words};

pub(super) async fn restore(
    db: &Db<'_>,
    project: &ProjectId,
    creates_project: bool,
    pieces: &[EmbeddedPiece],
    now: Timestamp,
) -> Result<u64, Fault> {
    let key = projects::key_to_fill(db, project, creates_project).await?;
    projects::lock_keys(db, &[key]).await?;
    let memories = pieces.iter();
    let memories = memories.filter(|piece| matches!(piece, EmbeddedPiece::Memory { .. }));
    let mut revisions = projects::next_revisions(db, key, memories.count()).await?;
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
                let new = restore_memory(db, key, revision, memory).await?;
                if let Some(memory) = new {
                    let space = VectorSpace::new(embedder.as_str(), vector.len());
                    vectors::put(db, &[(key, memory, space, vector)], now).await?;
                }
                new.is_some()
            }
            EmbeddedPiece::Skill(skill) => skills::insert(db, key, skill).await?,
            EmbeddedPiece::Undo(record) => undo_records::insert(db, key, record).await?,
        };
        stored += u64::from(new);
    }
    Ok(stored)
}

/// Inserts a trace, unless the project has it. Work in progress starts over.
async fn restore_trace(
    db: &Db<'_>,
    project: i64,
    archived: &ArchivedTrace,
    now: Timestamp,
) -> Result<bool, Fault> {
    let trace = &archived.trace;
    if traces::key_of(db, project, &trace.id).await?.is_some() {
        return Ok(false);
    }
    let taken = match &trace.run_id {
        Some(name) => traces::receipt(db, project, name).await?.is_some(),
        None => false,
    };
    let status = match (&trace.ingest_status, &trace.review) {
        (IngestStatus::Queued | IngestStatus::Processing, Some(_)) => IngestStatus::Queued,
        (IngestStatus::Failed, Some(_)) => IngestStatus::Failed,
        _ => IngestStatus::Completed,
    };
    let withdrawn = trace.withdrawn_verdict.as_ref();
    let error = trace
        .last_ingest_error
        .as_ref()
        .or(trace.judge_error.as_ref());
    let created_at = trace.created_at.clone().unwrap_or_else(|| clock::text(now));
    let (metadata, retrieved) = (
        to_json(&trace.metadata)?,
        to_json(&trace.retrieved_memory_ids)?,
    );
    let (ignored, trajectory) = (
        to_json(&trace.ignored_memory_ids)?,
        to_json(&trace.trajectory)?,
    );
    let words = words::of(&trace.task);
    let is_reviewed = trace.review_status == ReviewStatus::Reviewed;
    let mut rows = Rows::new(new_traces::NEW);
    rows.push(params![
        project,
        trace.id,
        trace.run_id.as_ref().filter(|_| !taken),
        archived.receipt,
        is_reviewed,
        status,
        trace.ingest_attempts,
        error,
        trace.created_memory_id,
        trace.model,
        metadata,
        retrieved,
        ignored,
        created_at,
        trace.task,
        trace.final_response,
        trace.reference_context,
        trajectory,
        withdrawn.map(|verdict| &verdict.model),
        withdrawn.map(|verdict| &verdict.result),
        trace.key_id,
        trace.arm,
        trace.parent_run_id,
        trace.session_id,
        trace.usage.map(|usage| usage.input_tokens),
        trace.usage.map(|usage| usage.output_tokens),
        words,
    ]);
    let inserted = new_traces::insert_new(db, &rows).await?;
    let Some(&key) = inserted.get(&trace.id) else {
        return Err(Fault::Data("a trace was not inserted".to_owned()));
    };
    let mut labels = Rows::new(trace_labels::LABELS);
    trace_labels::add(&mut labels, project, key, &trace.metadata);
    trace_labels::insert(db, &labels).await?;
    // In the order in which they were given.
    past_reviews::insert(db, project, key, &archived.past_reviews).await?;
    if let Some(review) = review(archived, now) {
        reviews::put(db, project, &[(key, &review)]).await?;
    }
    if status == IngestStatus::Queued {
        jobs::put(db, project, &[(JobKind::Reflection, key, Some(now), 0)]).await?;
    }
    Ok(true)
}

/// The review of an archived trace; what other programs leave out gets its default.
fn review(archived: &ArchivedTrace, now: Timestamp) -> Option<NewReview> {
    let review = archived.trace.review.as_ref()?;
    let judgement = archived.judgement.as_ref();
    let created_at = judgement.and_then(|kept| kept.created_at.parse().ok());
    Some(NewReview {
        id: review.id.clone(),
        verdict: review.result,
        feedback: review.feedback_text.clone(),
        alpha: judgement.map_or(Review::DEFAULT_ALPHA, |kept| kept.alpha),
        reflection: judgement.and_then(|kept| kept.reflection.clone()),
        mode: review.mode.clone(),
        reviewer: review.reviewer.clone().unwrap_or_default(),
        key_id: review.key_id.clone(),
        overruled: review.overruled.clone(),
        created_at: created_at.unwrap_or(now),
    })
}

/// Inserts a memory with its events and changes, unless the project has it.
async fn restore_memory(
    db: &Db<'_>,
    project: i64,
    revision: i64,
    archived: &ArchivedMemory,
) -> Result<Option<MemoryKey>, Fault> {
    let ArchivedMemory {
        history,
        generation,
        set_aside,
    } = archived;
    let memory = &history.memory;
    match memory_rows::status(db, project, &memory.id)
        .await?
        .as_deref()
    {
        None => {}
        Some("withdrawn") if memory.status != MemoryStatus::Withdrawn => {
            memory_writes::remove(db, project, &[&memory.id]).await?;
        }
        Some(_) => return Ok(None),
    }
    let hidden = memory.aside.as_ref();
    let status = match hidden {
        Some(_) => &MemoryStatus::Active,
        None => &memory.status,
    };
    let reviewer = memory.reviewer.as_ref();
    let is_staged = memory.status == MemoryStatus::Staged;
    let key: MemoryKey = db
        .one(
            "INSERT INTO memory (project, id, trace_id, success, q, uses, revision, created_at, metadata, \
                 task, reflection, status, key_id, reviewer_model, generation, given, alpha, hidden, \
                 hidden_reason, hidden_at, hidden_into, task_sketch, text_sketch, needs_approval) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
                 coalesce($17::float8, (SELECT r.alpha FROM trace t JOIN review r ON r.project = t.project \
                     AND r.trace = t.key AND r.state = 'current' WHERE t.project = $1 AND t.id = $3), $18), \
                 $19, $20, $21, (SELECT x.key FROM memory x WHERE x.project = $1 AND x.id = $22), \
                 $23, $24, $25) RETURNING key",
            &params![
                project,
                memory.id,
                memory.trace_id,
                memory.success,
                memory.q_value,
                memory.uses,
                revision,
                memory.created_at,
                to_json(&memory.metadata)?,
                memory.task,
                to_json(&memory.reflection)?,
                status,
                memory.key_id,
                reviewer.and_then(|reviewer| reviewer.model_name()),
                generation,
                to_json(&memory.retrieved_memory_ids)?,
                memory.alpha,
                Review::DEFAULT_ALPHA,
                hidden.map(|_| &memory.status),
                hidden.map(|hidden| &hidden.reason),
                hidden.map(|hidden| &hidden.since),
                memory.merged_into,
                task_sketch(&memory.task),
                text_sketch(&memory.reflection),
                is_staged,
            ],
        )
        .await?
        .first()?;
    let mut void = set_aside.iter().peekable();
    let mut all = Vec::with_capacity(history.events.len() + set_aside.len());
    for (position, event) in (0..).zip(&history.events) {
        while let Some(earlier) = void.next_if(|void| void.position <= position) {
            all.push((&earlier.event, true));
        }
        all.push((event, false));
    }
    all.extend(void.map(|later| (&later.event, true)));
    events::insert(db, project, key, &all).await?;
    memory_changes::import(db, project, &memory.id, *generation, &history.changes).await?;
    hiding::touch_merged(db, project, &memory.id).await?;
    Ok(Some(key))
}
