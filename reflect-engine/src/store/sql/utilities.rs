//! The utilities of memories, and the events that move them.

use std::collections::BTreeMap;

use reflect_types::TraceId;

use super::db::Db;
use super::fault::Fault;
use super::projects;
use super::value::{Rows, Type, params};
use crate::review::{EventWrite, UtilityWrite};
use crate::store::MemoryKey;

/// Writes utilities, and the events of each; new events are of its trace. A memory that is moved several times gets the
/// last of these utilities.
pub(super) async fn write(
    db: &Db<'_>,
    project: i64,
    moved: &[(&TraceId, &UtilityWrite)],
) -> Result<(), Fault> {
    write_events(db, project, moved).await?;
    let last: BTreeMap<MemoryKey, &UtilityWrite> = moved
        .iter()
        .map(|(_, write)| (write.memory, *write))
        .collect();
    if last.is_empty() {
        return Ok(());
    }
    let revisions = projects::next_revisions(db, project, last.len()).await?;
    let mut rows = Rows::new(&[
        ("project", Type::Int),
        ("memory", Type::Int),
        ("q", Type::Real),
        ("uses", Type::Int),
        ("revision", Type::Int),
    ]);
    for (write, revision) in last.values().zip(revisions) {
        rows.push(params![
            project,
            write.memory,
            write.q,
            write.uses,
            revision
        ]);
    }
    db.execute_rows(
        "UPDATE memory SET q = r.q, uses = r.uses, revision = r.revision \
         FROM {rows} WHERE memory.project = r.project AND memory.key = r.memory",
        &rows,
    )
    .await
}

async fn write_events(
    db: &Db<'_>,
    project: i64,
    moved: &[(&TraceId, &UtilityWrite)],
) -> Result<(), Fault> {
    let mut new = Rows::new(&[
        ("project", Type::Int),
        ("memory", Type::Int),
        ("trace_id", Type::Text),
        ("review_id", Type::Text),
        ("alpha", Type::Real),
        ("reward", Type::Real),
        ("before", Type::Real),
        ("after", Type::Real),
        ("created_at", Type::Text),
        ("key_id", Type::Text),
        ("reviewer_model", Type::Text),
    ]);
    let mut moves = Rows::new(&[
        ("project", Type::Int),
        ("event", Type::Int),
        ("alpha", Type::Real),
        ("reward", Type::Real),
        ("before", Type::Real),
        ("after", Type::Real),
    ]);
    let mut teachers = Rows::new(&[
        ("project", Type::Int),
        ("event", Type::Int),
        ("key_id", Type::Text),
        ("reviewer_model", Type::Text),
    ]);
    let (mut void, mut removed) = (Vec::new(), Vec::new());
    let events = moved.iter().flat_map(|(trace, write)| {
        write
            .events
            .iter()
            .map(move |event| (trace, write.memory, event))
    });
    for (trace, memory, event) in events {
        match event {
            EventWrite::Append(event) => new.push(params![
                project,
                memory,
                *trace,
                event.review_id,
                event.change.alpha,
                event.change.reward,
                event.step.before,
                event.step.after,
                event.created_at,
                event.teacher.key_id,
                event.teacher.reviewer.model_name(),
            ]),
            EventWrite::Update {
                key,
                change,
                step,
                teacher,
            } => {
                moves.push(params![
                    project,
                    key,
                    change.alpha,
                    change.reward,
                    step.before,
                    step.after,
                ]);
                if let Some(by) = teacher {
                    teachers.push(params![project, key, by.key_id, by.reviewer.model_name()]);
                }
            }
            EventWrite::SetAside(key) => void.push(*key),
            EventWrite::Remove(key) => removed.push(*key),
        }
    }
    db.execute_rows(
        "INSERT INTO utility_event (project, memory, trace_id, review_id, alpha, reward, before, after, \
             created_at, key_id, reviewer_model) \
         SELECT r.project, r.memory, r.trace_id, r.review_id, r.alpha, r.reward, r.before, r.after, \
             r.created_at, r.key_id, r.reviewer_model FROM {rows} ORDER BY r.place",
        &new,
    )
    .await?;
    db.execute_rows(
        "UPDATE utility_event SET alpha = r.alpha, reward = r.reward, before = r.before, after = r.after, \
             void = false FROM {rows} WHERE utility_event.project = r.project AND utility_event.key = r.event",
        &moves,
    )
    .await?;
    db.execute_rows(
        "UPDATE utility_event SET key_id = r.key_id, reviewer_model = r.reviewer_model \
         FROM {rows} WHERE utility_event.project = r.project AND utility_event.key = r.event",
        &teachers,
    )
    .await?;
    for (statement, keys) in [
        (
            "UPDATE utility_event SET void = true WHERE project = $1 AND key = ANY($2)",
            void,
        ),
        (
            "DELETE FROM utility_event WHERE project = $1 AND key = ANY($2)",
            removed,
        ),
    ] {
        if !keys.is_empty() {
            db.execute(statement, &params![project, keys]).await?;
        }
    }
    Ok(())
}
