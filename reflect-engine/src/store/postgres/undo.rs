//! The rows that an undo reads and writes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use reflect_types::{IngestStatus, KeyId, MemoryId, ProjectId, TraceId, UndoReport};

use super::fault::Fault;
use super::sql::Db;
use super::value::params;
use super::{
    deleted_reviews, events, jobs, memories, memory_changes, memory_edits, projects, reviews, row,
    skills, undo_records, undone,
};
use crate::error::Error;
use crate::review::{
    self, MemoryLink, MemoryState, Outcome, PastState, ReviewHistory, Selection, TaughtMemory,
    TaughtProject, TraceChange, UndoChanges, WithdrawnVerdict,
};
use crate::store::{JobKind, MemoryKey, UndoRun};

pub(super) async fn undo(
    db: &Db<'_>,
    project: &ProjectId,
    selection: &Selection,
    run: &UndoRun,
    now: Timestamp,
) -> Result<UndoReport, Fault> {
    let project = match run {
        UndoRun::Dry => projects::key(db, project).await?,
        UndoRun::Real { .. } => {
            // A review that is being stored is seen here, or sees this undo.
            projects::key_alone(db, project).await?;
            projects::lock(db, project).await?
        }
    };
    let taught = match project {
        Some(project) => load(db, project, selection).await?,
        None => TaughtProject::default(),
    };
    let mut changes = review::undo(taught, selection);
    match (run, project) {
        (UndoRun::Dry, _) => {
            changes.report.dry_run = true;
            changes.report.digest = Some(changes.digest());
        }
        (
            UndoRun::Real {
                expect: Some(digest),
                ..
            },
            _,
        ) if *digest != changes.digest() => {
            let problem = "the changes of this undo are no longer those that were shown: preview it again. \
                 Revoke the key first if it is still in use";
            return Err(Error::Conflict(problem.to_owned()).into());
        }
        (UndoRun::Real { record, .. }, Some(project)) => {
            write(db, project, &changes, now).await?;
            undone::record(db, project, selection, now).await?;
            if let (Some(new), false) = (record, changes == UndoChanges::default()) {
                undo_records::insert(db, project, &new.record(&changes.report, now)).await?;
            }
        }
        (UndoRun::Real { .. }, None) => {}
    }
    Ok(changes.report)
}

async fn load(db: &Db<'_>, project: i64, selection: &Selection) -> Result<TaughtProject, Fault> {
    let mut traces = histories(db, project, selection).await?;
    traces.extend(deleted_reviews::histories(db, project, selection).await?);
    let memories = taught_memories(db, project, selection, &traces).await?;
    let (skill_sources, skill_is_stale) = skills::sources(db, project).await?;
    let unjudged = match selection.silenced_key() {
        Some(key) => jobs::unjudged(db, project, key, selection.trace_id.as_ref()).await?,
        None => Vec::new(),
    };
    Ok(TaughtProject {
        traces,
        memories,
        skill_sources,
        skill_is_stale,
        unjudged,
    })
}

async fn histories(
    db: &Db<'_>,
    project: i64,
    selection: &Selection,
) -> Result<Vec<ReviewHistory>, Fault> {
    let key = selection.key_id.as_ref().map(KeyId::as_str);
    let trace = selection.trace_id.as_ref().map(TraceId::as_str);
    let rows = db
        .query(
            "SELECT t.key, t.id, r.key_id, r.reviewer_model, r.created_at, r.id, r.verdict, \
             r.alpha, r.overruled_model, r.overruled_verdict, CASE WHEN t.ingest_status = \
             'completed' THEN t.created_memory ELSE NULL END FROM trace t LEFT JOIN review r \
             ON r.trace = t.key WHERE t.project = $1 AND ($3::text IS NULL OR t.id = $3) AND \
             ( (r.trace IS NOT NULL AND ($2::text IS NULL OR r.key_id = $2)) OR EXISTS \
             (SELECT 1 FROM past_review p WHERE p.trace = t.key AND ($2::text IS NULL OR \
             p.key_id = $2))) ORDER BY t.key",
            params![project, key, trace],
        )
        .await?;
    let mut histories = Vec::new();
    for found in &rows {
        let trace = found.get(0)?;
        let current = match found.get::<Option<String>>(5)? {
            Some(_) => Some(row::given_review(found, 2)?),
            None => None,
        };
        histories.push(ReviewHistory {
            trace,
            trace_id: TraceId::new(found.get::<String>(1)?),
            deleted: false,
            past: past(db, trace).await?,
            current,
        });
    }
    Ok(histories)
}

async fn past(db: &Db<'_>, trace: i64) -> Result<Vec<PastState>, Fault> {
    let rows = db
        .query(
            "SELECT key, key_id, reviewer_model, created_at, id, verdict, alpha, \
             overruled_model, overruled_verdict, memory_id, generation, learned FROM \
             past_review WHERE trace = $1 ORDER BY key",
            params![trace],
        )
        .await?;
    let mut states = Vec::new();
    for found in &rows {
        states.push(PastState {
            key: found.get(0)?,
            given: row::given_review(found, 1)?,
            learned: row::learned_text(found, 10)?,
        });
    }
    Ok(states)
}

async fn taught_memories(
    db: &Db<'_>,
    project: i64,
    selection: &Selection,
    traces: &[ReviewHistory],
) -> Result<Vec<TaughtMemory>, Fault> {
    let key = selection.key_id.as_ref().map(KeyId::as_str);
    let taught = db
        .column(
            "SELECT key FROM memory WHERE project = $1 AND ($2::text IS NULL OR key_id = $2) \
             UNION SELECT e.memory FROM utility_event e JOIN memory m ON m.key = e.memory \
             WHERE m.project = $1 AND ($2::text IS NULL OR e.key_id = $2) UNION SELECT m.key \
             FROM memory_change c JOIN memory m ON m.project = c.project AND m.id = \
             c.memory_id WHERE c.project = $1 AND NOT c.closed AND ($2::text IS NULL OR \
             c.key_id = $2)",
            params![project, key],
        )
        .await?;
    let mut keys: BTreeSet<MemoryKey> = taught.into_iter().collect();
    for history in traces {
        let states = history.past.iter().map(|state| &state.given);
        let reviews = states.chain(&history.current);
        for review in reviews.filter_map(|given| given.review.as_ref()) {
            let moved: Vec<MemoryKey> = db
                .column(
                    "SELECT e.memory FROM utility_event e JOIN memory m ON m.key = e.memory WHERE \
             e.review_id = $1 AND m.project = $2",
                    params![review.id, project],
                )
                .await?;
            keys.extend(moved);
            if let Some(id) = &review.memory {
                keys.extend(memories::key_of(db, project, id).await?);
            }
        }
    }
    let mut memories = Vec::with_capacity(keys.len());
    for key in keys {
        memories.push(taught_memory(db, key).await?);
    }
    Ok(memories)
}

async fn taught_memory(db: &Db<'_>, key: MemoryKey) -> Result<TaughtMemory, Fault> {
    let rows = db
        .query(
            "SELECT id, trace_id, task, q, status = 'withdrawn', key_id, reviewer_model, \
             created_at, reflection, generation, CASE WHEN status = 'withdrawn' THEN 'active' \
             ELSE status END FROM memory WHERE key = $1",
            params![key],
        )
        .await?;
    let Some(found) = rows.first() else {
        return Err(Fault::Data(format!("memory {key} is gone")));
    };
    Ok(TaughtMemory {
        key,
        id: MemoryId::new(found.get::<String>(0)?),
        trace_id: TraceId::new(found.get::<String>(1)?),
        task: found.get(2)?,
        q: found.get(3)?,
        withdrawn: found.get(4)?,
        teacher: row::teacher(found, 5)?,
        at: row::time(found, 7)?,
        state: MemoryState {
            reflection: row::json(found, 8)?,
            status: row::name(found, 10)?,
        },
        generation: found.get(9)?,
        changes: memory_changes::recorded(db, key).await?,
        events: events::taught(db, key).await?,
    })
}

async fn write(
    db: &Db<'_>,
    project: i64,
    changes: &UndoChanges,
    now: Timestamp,
) -> Result<(), Fault> {
    for id in &changes.removed {
        memories::remove(db, project, id).await?;
    }
    for (id, content) in &changes.contents {
        memories::restore(db, project, id, content).await?;
    }
    for state in &changes.states {
        memory_edits::restore_state(db, project, state).await?;
    }
    for utility in &changes.utilities {
        // An undo appends no event, so none needs a trace.
        reviews::write_utility(db, project, "", utility).await?;
    }
    for change in &changes.traces {
        if change.deleted {
            deleted_reviews::write(db, change).await?;
        } else {
            write_trace(db, change, now).await?;
        }
    }
    for trace in &changes.unjudged {
        jobs::park(db, JobKind::Judgement, *trace).await?;
    }
    if changes.removes_skill {
        db.execute("DELETE FROM skill WHERE project = $1", params![project])
            .await?;
    }
    Ok(())
}

async fn write_trace(db: &Db<'_>, change: &TraceChange, now: Timestamp) -> Result<(), Fault> {
    let trace = change.trace;
    match change.outcome {
        Outcome::Stays => {}
        Outcome::Unreviewed => {
            remove_review(db, trace).await?;
            set_status(db, trace, &IngestStatus::Completed).await?;
            jobs::park(db, JobKind::Judgement, trace).await?;
        }
        Outcome::Restored(state) => {
            remove_review(db, trace).await?;
            put_back(db, trace, state).await?;
            set_status(db, trace, &IngestStatus::Completed).await?;
        }
        Outcome::Requeued(state) => {
            remove_review(db, trace).await?;
            put_back(db, trace, state).await?;
            set_status(db, trace, &IngestStatus::Queued).await?;
            jobs::queue(db, JobKind::Reflection, trace, now).await?;
        }
    }
    match &change.memory {
        MemoryLink::Keep => {}
        MemoryLink::Set(memory) => {
            db.execute(
                "UPDATE trace SET reviewed = true, created_memory = $2 WHERE key = $1",
                params![trace, memory.as_str()],
            )
            .await?;
        }
        MemoryLink::Clear => {
            db.execute(
                "UPDATE trace SET reviewed = false, created_memory = NULL, ignored = '[]' WHERE \
             key = $1",
                params![trace],
            )
            .await?;
        }
    }
    if let Some(WithdrawnVerdict(verdict)) = &change.withdrawn_verdict {
        db.execute(
            "UPDATE trace SET withdrawn_model = $2, withdrawn_verdict = $3 WHERE key = $1",
            params![
                trace,
                verdict.as_ref().map(|verdict| &verdict.model),
                verdict.as_ref().map(|verdict| verdict.result.as_str()),
            ],
        )
        .await?;
    }
    for state in &change.forget {
        db.execute("DELETE FROM past_review WHERE key = $1", params![state])
            .await?;
    }
    Ok(())
}

/// Starts the work on a trace's review over.
async fn set_status(db: &Db<'_>, trace: i64, status: &IngestStatus) -> Result<(), Fault> {
    db.execute(
        "UPDATE trace SET ingest_status = $2, ingest_attempts = 0, last_ingest_error = \
             NULL WHERE key = $1",
        params![trace, status.as_str()],
    )
    .await?;
    Ok(())
}

/// Deletes the review of a trace, and the work on it.
async fn remove_review(db: &Db<'_>, trace: i64) -> Result<(), Fault> {
    db.execute("DELETE FROM review WHERE trace = $1", params![trace])
        .await?;
    db.execute("DELETE FROM queue WHERE trace = $1", params![trace])
        .await?;
    Ok(())
}

/// Makes a past state the review of its trace again.
async fn put_back(db: &Db<'_>, trace: i64, state: i64) -> Result<(), Fault> {
    db.execute(
        "INSERT INTO review (trace, id, verdict, feedback, alpha, reflection, mode, \
             created_at, reviewer_model, key_id, overruled_model, overruled_verdict) SELECT \
             trace, id, verdict, feedback, alpha, reflection, mode, created_at, \
             reviewer_model, key_id, overruled_model, overruled_verdict FROM past_review \
             WHERE key = $2 AND trace = $1",
        params![trace, state],
    )
    .await?;
    db.execute("DELETE FROM past_review WHERE key = $1", params![state])
        .await?;
    Ok(())
}
