//! Judgements: what follows from one, and what follows from taking it back.

use reflect_types::{IngestStatus, MemoryId, ProjectId, TraceId, Verdict};
use rusqlite::{Connection, named_params, params};

use super::fault::Fault;
use super::{memories, row};
use crate::clock;
use crate::error::Error;
use crate::learn::Move;
use crate::store::{Applied, Basis, Lesson, NewReview, Withdrawn, distinct};

/// What of a run matters for its judgement.
pub(super) struct Run {
    pub(super) key: i64,
    pub(super) id: TraceId,
    pub(super) project: i64,
    pub(super) task: String,
    /// As JSON, because it is only handed on.
    pub(super) metadata: String,
    pub(super) retrieved: Vec<MemoryId>,
}

/// Where a run stands.
struct Standing {
    reviewed: bool,
    ingest_status: IngestStatus,
    created_memory: Option<MemoryId>,
    review: Option<(String, Verdict)>,
    owner: Option<String>,
}

impl Standing {
    fn is_working(&self) -> bool {
        matches!(
            self.ingest_status,
            IngestStatus::Queued | IngestStatus::Processing
        )
    }
}

pub(super) fn apply(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
    basis: &Basis,
    lesson: &Lesson,
) -> Result<Applied, Fault> {
    let Some((run, standing)) = find(db, project, id)? else {
        return Ok(match basis {
            Basis::Job { .. } => Applied::LeaseLost,
            Basis::Fresh | Basis::Replace { .. } => Applied::NoTrace,
        });
    };
    match (basis, &standing.review) {
        (Basis::Job { owner }, _) => {
            if standing.owner.as_ref() != Some(owner) {
                return Ok(Applied::LeaseLost);
            }
            learn(db, &run, lesson)?;
        }
        (_, _) if standing.is_working() => return Ok(Applied::Working),
        (Basis::Fresh, Some((_, verdict))) if standing.reviewed => {
            return Ok(Applied::Reviewed(*verdict));
        }
        (Basis::Fresh, _) => {
            put(db, run.key, &lesson.review)?;
            learn(db, &run, lesson)?;
        }
        (Basis::Replace { review_id }, Some((current, _)))
            if standing.reviewed && current == review_id =>
        {
            relearn(db, &run, review_id, standing.created_memory, lesson)?;
        }
        (Basis::Replace { .. }, _) => return Ok(Applied::NoReview),
    }
    Ok(Applied::Done)
}

pub(super) fn put_aside(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
    review: &NewReview,
    error: &str,
) -> Result<Applied, Fault> {
    let Some((run, standing)) = find(db, project, id)? else {
        return Ok(Applied::NoTrace);
    };
    if standing.is_working() {
        return Ok(Applied::Working);
    }
    if let Some((_, verdict)) = standing.review.filter(|_| standing.reviewed) {
        return Ok(Applied::Reviewed(verdict));
    }
    put(db, run.key, review)?;
    db.prepare_cached(
        "UPDATE trace SET ingest_status = 'failed', ingest_attempts = ingest_attempts + 1, \
             last_ingest_error = ?2 WHERE key = ?1",
    )?
    .execute(params![run.key, error])?;
    Ok(Applied::Done)
}

pub(super) fn withdraw(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Withdrawn, Fault> {
    let Some((run, standing)) = find(db, project, id)? else {
        return Ok(Withdrawn::NoTrace);
    };
    let Some((review, _)) = standing.review else {
        return Ok(Withdrawn::NoReview);
    };
    let moved = moved_by(db, run.project, &review)?;
    db.prepare_cached(
        "DELETE FROM utility_event WHERE review_id = ?1 \
         AND memory IN (SELECT key FROM memory WHERE project = ?2)",
    )?
    .execute(params![review, run.project])?;
    for memory in moved {
        memories::replay(db, run.project, memory)?;
    }
    if let Some(memory) = standing.created_memory {
        memories::remove(db, run.project, &memory)?;
    }
    db.prepare_cached("DELETE FROM review WHERE trace = ?1")?
        .execute([run.key])?;
    db.prepare_cached("DELETE FROM job WHERE trace = ?1")?
        .execute([run.key])?;
    db.prepare_cached(
        "UPDATE trace SET reviewed = 0, ingest_status = 'completed', ingest_attempts = 0, \
             last_ingest_error = NULL, created_memory = NULL, ignored = '[]' WHERE key = ?1",
    )?
    .execute([run.key])?;
    Ok(Withdrawn::Done)
}

/// Stores a review, in the place of the one before where there was one.
pub(super) fn put(db: &Connection, trace: i64, review: &NewReview) -> Result<(), Fault> {
    let reflection = review.reflection.as_ref().map(row::to_json).transpose()?;
    db.prepare_cached(
        "INSERT OR REPLACE INTO review \
             (trace, id, verdict, feedback, alpha, reflection, mode, created_at) \
         VALUES (:trace, :id, :verdict, :feedback, :alpha, :reflection, :mode, :created_at)",
    )?
    .execute(named_params! {
        ":trace": trace,
        ":id": review.id,
        ":verdict": review.verdict.as_str(),
        ":feedback": review.feedback,
        ":alpha": review.alpha,
        ":reflection": reflection,
        ":mode": review.mode.as_str(),
        ":created_at": clock::text(review.created_at),
    })?;
    Ok(())
}

/// The memory, the moves, their events, and the end of the job.
pub(super) fn learn(db: &Connection, run: &Run, lesson: &Lesson) -> Result<(), Fault> {
    let step = move_of(&lesson.review)?;
    let mut ignored = Vec::new();
    // Before the new memory is stored, which cannot have been among what the run was given.
    for id in distinct(&run.retrieved) {
        let moved = memories::apply(db, run.project, id, step, |memory, q| {
            db.prepare_cached(
                "INSERT INTO utility_event \
                     (memory, trace_id, review_id, alpha, reward, before, after, created_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            )?
            .execute(params![
                memory,
                run.id.as_str(),
                lesson.review.id,
                step.alpha,
                step.reward,
                q.before,
                q.after,
                clock::text(lesson.memory.created_at),
            ])?;
            Ok(())
        })?;
        if !moved {
            ignored.push(id);
        }
    }
    memories::insert(db, run, lesson)?;
    finish(db, run.key, &lesson.memory.id)?;
    db.prepare_cached("UPDATE trace SET ignored = ?2 WHERE key = ?1")?
        .execute(params![run.key, row::to_json(&ignored)?])?;
    db.prepare_cached("DELETE FROM job WHERE trace = ?1")?
        .execute([run.key])?;
    Ok(())
}

/// As if the run had been judged this way from the start.
fn relearn(
    db: &Connection,
    run: &Run,
    review_id: &str,
    memory: Option<MemoryId>,
    lesson: &Lesson,
) -> Result<(), Fault> {
    let step = move_of(&lesson.review)?;
    let review = NewReview {
        id: review_id.to_owned(),
        ..lesson.review.clone()
    };
    put(db, run.key, &review)?;
    let rewritten = match memory {
        Some(id) => memories::rewrite(db, run, &id, lesson)?,
        None => false,
    };
    if !rewritten {
        memories::insert(db, run, lesson)?;
        finish(db, run.key, &lesson.memory.id)?;
    }
    db.prepare_cached(
        "UPDATE utility_event SET alpha = ?2, reward = ?3 WHERE review_id = ?1 \
         AND memory IN (SELECT key FROM memory WHERE project = ?4)",
    )?
    .execute(params![review_id, step.alpha, step.reward, run.project])?;
    for memory in moved_by(db, run.project, review_id)? {
        memories::replay(db, run.project, memory)?;
    }
    Ok(())
}

fn finish(db: &Connection, trace: i64, memory: &MemoryId) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE trace SET reviewed = 1, ingest_status = 'completed', last_ingest_error = NULL, \
             created_memory = ?2 WHERE key = ?1",
    )?
    .execute(params![trace, memory.as_str()])?;
    Ok(())
}

/// The project's memories that a review moved. An import brings its review ids along, so another
/// project may have the same.
fn moved_by(db: &Connection, project: i64, review: &str) -> Result<Vec<i64>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT DISTINCT e.memory FROM utility_event e JOIN memory m ON m.key = e.memory \
         WHERE e.review_id = ?1 AND m.project = ?2",
    )?;
    let keys = select.query_map(params![review, project], |row| row.get(0))?;
    Ok(keys.collect::<rusqlite::Result<_>>()?)
}

fn move_of(review: &NewReview) -> Result<Move, Fault> {
    Move::of(review.verdict, review.alpha).ok_or_else(|| {
        Fault::Plain(Error::Internal {
            message: "a review without a verdict reached the store".to_owned(),
            source: None,
        })
    })
}

fn find(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<(Run, Standing)>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT t.key, t.project, t.task, t.metadata, t.retrieved, t.reviewed, t.ingest_status, \
             t.created_memory, r.id, r.verdict, j.owner \
         FROM trace t JOIN project p ON p.key = t.project \
             LEFT JOIN review r ON r.trace = t.key LEFT JOIN job j ON j.trace = t.key \
         WHERE t.id = ?1 AND p.id = ?2",
    )?;
    let mut rows = select.query([id.as_str(), project.as_str()])?;
    let Some(found) = rows.next()? else {
        return Ok(None);
    };
    let run = Run {
        key: found.get(0)?,
        id: id.clone(),
        project: found.get(1)?,
        task: found.get(2)?,
        metadata: found.get(3)?,
        retrieved: row::json(found, 4)?,
    };
    let review = match found.get::<_, Option<String>>(8)? {
        Some(review) => Some((review, row::verdict(found, 9)?)),
        None => None,
    };
    let standing = Standing {
        reviewed: found.get(5)?,
        ingest_status: row::status(found, 6)?,
        created_memory: found.get::<_, Option<String>>(7)?.map(MemoryId::new),
        review,
        owner: found.get(10)?,
    };
    Ok(Some((run, standing)))
}
