//! The rows that an undo reads and writes: a few statements, however much was taught.

use std::collections::BTreeSet;

use jiff::Timestamp;
use reflect_types::{IngestStatus, MemoryId, ProjectId, UndoReport};

use super::db::Db;
use super::fault::Fault;
use super::jobs::NewJob;
use super::value::{Rows, params};
use super::{
    events, jobs, memory_changes, memory_edits, memory_rows, memory_writes, past_reviews, projects,
    reviews, skills, undo_records, undone, utilities,
};
use crate::error::Error;
use crate::review::{
    self, MemoryLink, MemoryState, Outcome, ReviewHistory, Selection, TaughtMemory, TaughtProject,
    TraceChange, UndoChanges, WithdrawnVerdict,
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
    let traces = past_reviews::histories(db, project, selection).await?;
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

async fn taught_memories(
    db: &Db<'_>,
    project: i64,
    selection: &Selection,
    traces: &[ReviewHistory],
) -> Result<Vec<TaughtMemory>, Fault> {
    let taught = "SELECT key FROM memory WHERE project = $1 AND ($2::text IS NULL OR key_id = $2) \
         UNION SELECT memory FROM utility_event WHERE project = $1 AND ($2::text IS NULL OR key_id = $2) \
         UNION SELECT m.key FROM memory_change c JOIN memory m ON m.project = c.project AND m.id = c.memory_id \
             WHERE c.project = $1 AND NOT c.closed AND ($2::text IS NULL OR c.key_id = $2)";
    let taught = db
        .column(taught, &params![project, selection.key_id])
        .await?;
    let mut keys: BTreeSet<MemoryKey> = taught.into_iter().collect();
    let reviews = traces.iter().flat_map(|history| {
        let states = history.past.iter().map(|state| &state.given);
        states.chain(&history.current)
    });
    let reviews = reviews.filter_map(|given| given.review.as_ref());
    let (mut ids, mut learned) = (BTreeSet::new(), BTreeSet::new());
    for review in reviews {
        ids.insert(review.id.as_str());
        learned.extend(&review.memory);
    }
    let moved =
        "SELECT DISTINCT memory FROM utility_event WHERE project = $1 AND review_id = ANY($2)";
    let ids = Vec::from_iter(ids);
    keys.extend(
        db.column::<MemoryKey>(moved, &params![project, ids])
            .await?,
    );
    let learned: Vec<&MemoryId> = learned.into_iter().collect();
    keys.extend(
        memory_rows::keys_of(db, project, &learned)
            .await?
            .into_values(),
    );
    load_memories(db, project, &Vec::from_iter(keys)).await
}

async fn load_memories(
    db: &Db<'_>,
    project: i64,
    keys: &[MemoryKey],
) -> Result<Vec<TaughtMemory>, Fault> {
    let mut events = events::taught(db, project, keys).await?;
    let mut changes = memory_changes::recorded(db, project, keys).await?;
    let select = "SELECT key, id, trace_id, task, q, status = 'withdrawn' AS withdrawn, key_id, \
             reviewer, created_at, reflection, generation, \
             CASE WHEN status = 'withdrawn' THEN 'active' ELSE status END AS status \
         FROM memory WHERE project = $1 AND key = ANY($2) ORDER BY key";
    let rows = db.query(select, &params![project, keys]).await?;
    let memories = rows.iter().map(|row| {
        let key = row.get("key")?;
        Ok(TaughtMemory {
            key,
            id: row.get("id")?,
            trace_id: row.get("trace_id")?,
            task: row.get("task")?,
            q: row.get("q")?,
            withdrawn: row.get("withdrawn")?,
            teacher: row.teacher()?,
            at: row.get("created_at")?,
            state: MemoryState {
                reflection: row.json("reflection")?,
                status: row.get("status")?,
            },
            generation: row.get("generation")?,
            changes: changes.remove(&key).unwrap_or_default(),
            events: events.remove(&key).unwrap_or_default(),
        })
    });
    memories.collect()
}

async fn write(
    db: &Db<'_>,
    project: i64,
    changes: &UndoChanges,
    now: Timestamp,
) -> Result<(), Fault> {
    let removed: Vec<&MemoryId> = changes.removed.iter().collect();
    memory_writes::remove(db, project, &removed).await?;
    memory_writes::restore(db, project, &changes.contents).await?;
    memory_edits::restore_states(db, project, &changes.states).await?;
    // An undo appends no event, so none needs a trace.
    let no_trace = "".into();
    let moved = changes.utilities.iter().map(|write| (&no_trace, write));
    utilities::write(db, project, &moved.collect::<Vec<_>>()).await?;
    write_traces(db, project, &changes.traces, now).await?;
    let unjudged: Vec<NewJob> = changes
        .unjudged
        .iter()
        .map(|trace| (JobKind::Judgement, *trace, None, 0))
        .collect();
    jobs::put(db, project, &unjudged).await?;
    if changes.removes_skill {
        skills::remove(db, project).await?;
    }
    Ok(())
}

/// Writes the histories of traces, and what follows from each for a trace that is there.
async fn write_traces(
    db: &Db<'_>,
    project: i64,
    changes: &[TraceChange],
    now: Timestamp,
) -> Result<(), Fault> {
    write_histories(db, project, changes).await?;
    let changes: Vec<&TraceChange> = changes.iter().filter(|change| !change.deleted).collect();
    let mut ended = Vec::new();
    let mut jobs = Vec::<NewJob>::new();
    let mut statuses = Rows::new(
        "project bigint, key bigint, ingest_status text, ingest_attempts bigint, \
             last_ingest_error text",
    );
    let mut links = Rows::new("project bigint, trace bigint, reviewed boolean, memory text");
    let mut verdicts =
        Rows::new("project bigint, key bigint, withdrawn_model text, withdrawn_verdict text");
    for change in changes {
        let trace = change.trace;
        let status = match change.outcome {
            Outcome::Stays => None,
            Outcome::Unreviewed => {
                jobs.push((JobKind::Judgement, trace, None, 0));
                Some(&IngestStatus::Completed)
            }
            Outcome::Restored(_) => Some(&IngestStatus::Completed),
            Outcome::Requeued(_) => {
                jobs.push((JobKind::Reflection, trace, Some(now), 0));
                Some(&IngestStatus::Queued)
            }
        };
        if let Some(status) = status {
            // The work on its review starts over.
            ended.push(trace);
            statuses.push(params![project, trace, status, 0_i64, None::<&str>]);
        }
        match &change.memory {
            MemoryLink::Keep => {}
            MemoryLink::Set(memory) => links.push(params![project, trace, true, Some(memory)]),
            MemoryLink::Clear => links.push(params![project, trace, false, None::<&MemoryId>]),
        }
        if let Some(WithdrawnVerdict(verdict)) = &change.withdrawn_verdict {
            let verdict = verdict.as_ref();
            let (model, result) = (verdict.map(|by| &by.model), verdict.map(|by| &by.result));
            verdicts.push(params![project, trace, model, result]);
        }
    }
    jobs::remove(db, project, JobKind::Reflection, &ended).await?;
    jobs::remove(db, project, JobKind::Judgement, &ended).await?;
    jobs::put(db, project, &jobs).await?;
    db.update("trace", &statuses).await?;
    db.execute_rows(
        "UPDATE trace SET reviewed = r.reviewed, created_memory = r.memory, \
             ignored = CASE WHEN r.memory IS NULL THEN '[]' ELSE trace.ignored END \
         FROM {rows} WHERE trace.project = r.project AND trace.key = r.trace",
        &links,
    )
    .await?;
    db.update("trace", &verdicts).await
}

/// Deletes the reviews that no longer stand, puts past ones in their place, and deletes past ones.
async fn write_histories(db: &Db<'_>, project: i64, changes: &[TraceChange]) -> Result<(), Fault> {
    let (mut present, mut deleted) = (Vec::new(), Vec::new());
    let (mut restored, mut restored_of_deleted) = (Vec::new(), Vec::new());
    for change in changes {
        let (traces, states) = if change.deleted {
            (&mut deleted, &mut restored_of_deleted)
        } else {
            (&mut present, &mut restored)
        };
        if change.outcome != Outcome::Stays {
            traces.push(change.trace);
        }
        if let Outcome::Restored(state) | Outcome::Requeued(state) = change.outcome {
            states.push(state);
        }
    }
    let forgotten: Vec<i64> = changes
        .iter()
        .flat_map(|change| change.forget.clone())
        .collect();
    reviews::remove(db, project, &present).await?;
    for (statement, keys) in [
        (
            "DELETE FROM review WHERE project = $1 AND trace = ANY($2) AND state = 'last'",
            deleted,
        ),
        (
            "UPDATE review SET state = 'current', memory_id = NULL, learned = NULL, generation = 0 \
             WHERE project = $1 AND key = ANY($2)",
            restored,
        ),
        (
            "UPDATE review SET state = 'last' WHERE project = $1 AND key = ANY($2)",
            restored_of_deleted,
        ),
        (
            "DELETE FROM review WHERE project = $1 AND key = ANY($2)",
            forgotten,
        ),
    ] {
        if !keys.is_empty() {
            db.execute(statement, &params![project, keys]).await?;
        }
    }
    Ok(())
}
