//! The utilities of memories, and the events that move them.

use std::collections::BTreeMap;

use reflect_types::TraceId;

use super::db::Db;
use super::fault::Fault;
use super::projects;
use super::value::{Rows, params};
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
    let mut rows = Rows::new("project bigint, key bigint, q float8, uses bigint, revision bigint");
    for (write, revision) in last.values().zip(revisions) {
        rows.push(params![
            project,
            write.memory,
            write.q,
            write.uses,
            revision
        ]);
    }
    db.update("memory", &rows).await
}

async fn write_events(
    db: &Db<'_>,
    project: i64,
    moved: &[(&TraceId, &UtilityWrite)],
) -> Result<(), Fault> {
    let mut new = Rows::new(
        "project bigint, memory bigint, trace_id text, review_id text, alpha float8, reward float8, \
             before float8, after float8, created_at text, key_id text, reviewer text",
    );
    let mut moves = Rows::new(
        "project bigint, key bigint, alpha float8, reward float8, before float8, after float8, \
             void boolean",
    );
    let mut teachers = Rows::new("project bigint, key bigint, key_id text, reviewer text");
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
                event.teacher.reviewer,
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
                    false
                ]);
                if let Some(by) = teacher {
                    teachers.push(params![project, key, by.key_id, by.reviewer]);
                }
            }
            EventWrite::Void(key) => void.push(*key),
            EventWrite::Remove(key) => removed.push(*key),
        }
    }
    db.insert("utility_event", &new).await?;
    db.update("utility_event", &moves).await?;
    db.update("utility_event", &teachers).await?;
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
