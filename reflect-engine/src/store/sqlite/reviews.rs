//! Judgements: what follows from one, and what follows from taking it back.

use reflect_types::{IngestStatus, MemoryId, ProjectId, TraceId, Verdict};
use rusqlite::{Connection, named_params, params};

use super::fault::Fault;
use super::{memories, row};
use crate::clock;
use crate::error::Error;
use crate::learn::Move;
use crate::store::{Applied, Basis, Lesson, NewReview, Setback, Withdrawn, distinct, judge_note};

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
    /// The words of the review.
    feedback: Option<String>,
}

impl Standing {
    fn is_working(&self) -> bool {
        matches!(
            self.ingest_status,
            IngestStatus::Queued | IngestStatus::Processing
        )
    }

    /// Why a judgement on this basis cannot be passed.
    fn refuses(&self, basis: &Basis) -> Option<Applied> {
        match (basis, &self.review) {
            (Basis::Job { owner }, _) => {
                (self.owner.as_ref() != Some(owner)).then_some(Applied::LeaseLost)
            }
            (Basis::Replace { review_id, said }, Some((current, verdict)))
                if current == review_id =>
            {
                let unchanged = *verdict == said.verdict && self.feedback == said.feedback;
                (!unchanged).then_some(Applied::Changed)
            }
            _ if self.is_working() => Some(Applied::Working),
            (Basis::Fresh, Some((_, verdict))) if self.reviewed => {
                Some(Applied::Reviewed(*verdict))
            }
            (Basis::Fresh, _) => None,
            (Basis::Replace { .. }, _) => Some(Applied::NoReview),
        }
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
    if let Some(refusal) = standing.refuses(basis) {
        return Ok(refusal);
    }
    match (basis, standing.review) {
        // The review of the job may be one that replaces another, of which something was learned.
        (Basis::Job { .. } | Basis::Replace { .. }, Some((id, _))) if standing.reviewed => {
            relearn(db, &run, &id, standing.created_memory, lesson)?;
        }
        (Basis::Job { .. }, _) => learn(db, &run, lesson)?,
        (Basis::Fresh | Basis::Replace { .. }, replaced) => {
            let lesson = Lesson {
                review: under_the_same_id(&lesson.review, basis, replaced),
                memory: lesson.memory.clone(),
            };
            put(db, run.key, &lesson.review)?;
            learn(db, &run, &lesson)?;
        }
    }
    Ok(Applied::Done)
}

pub(super) fn put_aside(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
    basis: &Basis,
    review: &NewReview,
    setback: &Setback,
) -> Result<Applied, Fault> {
    let Some((run, standing)) = find(db, project, id)? else {
        return Ok(Applied::NoTrace);
    };
    if let Some(refusal) = standing.refuses(basis) {
        return Ok(refusal);
    }
    put(
        db,
        run.key,
        &under_the_same_id(review, basis, standing.review),
    )?;
    if let Some(due) = setback.next.due() {
        // What came before was the first attempt.
        db.prepare_cached(
            "INSERT OR REPLACE INTO job (trace, due_at, attempts) VALUES (?1, ?2, 1)",
        )?
        .execute([run.key, due.as_millisecond()])?;
    } else {
        db.prepare_cached("DELETE FROM job WHERE trace = ?1")?
            .execute([run.key])?;
    }
    db.prepare_cached(
        "UPDATE trace SET ingest_status = ?2, ingest_attempts = 1, last_ingest_error = ?3 \
         WHERE key = ?1",
    )?
    .execute(params![
        run.key,
        setback.next.status().as_str(),
        setback.error
    ])?;
    Ok(Applied::Done)
}

/// A review that replaces another keeps its id, by which its moves are known.
fn under_the_same_id(
    review: &NewReview,
    basis: &Basis,
    replaced: Option<(String, Verdict)>,
) -> NewReview {
    let mut review = review.clone();
    if let (Basis::Replace { .. }, Some((id, _))) = (basis, replaced) {
        review.id = id;
    }
    review
}

pub(super) fn withdraw(
    db: &Connection,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Withdrawn, Fault> {
    let Some((run, standing)) = find(db, project, id)? else {
        return Ok(Withdrawn::NoTrace);
    };
    let Some((review, verdict)) = standing.review else {
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
             last_ingest_error = NULL, created_memory = NULL, ignored = '[]', \
             judge_note = coalesce(?2, judge_note) WHERE key = ?1",
    )?
    .execute(params![
        run.key,
        judge_note(standing.feedback.as_deref(), verdict)
    ])?;
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
        Some(id) if memories::rewrite(db, run, &id, lesson)? => id,
        _ => {
            memories::insert(db, run, lesson)?;
            lesson.memory.id.clone()
        }
    };
    finish(db, run.key, &rewritten)?;
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

/// Marks the run, and ends its job.
fn finish(db: &Connection, trace: i64, memory: &MemoryId) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE trace SET reviewed = 1, ingest_status = 'completed', last_ingest_error = NULL, \
             created_memory = ?2 WHERE key = ?1",
    )?
    .execute(params![trace, memory.as_str()])?;
    db.prepare_cached("DELETE FROM job WHERE trace = ?1")?
        .execute([trace])?;
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
             t.created_memory, r.id, r.verdict, j.owner, r.feedback \
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
        feedback: found.get(11)?,
    };
    Ok(Some((run, standing)))
}
