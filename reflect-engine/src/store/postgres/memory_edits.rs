//! Editing, quarantining, restoring and deleting memories.

use jiff::Timestamp;
use reflect_types::{
    ChangeKind, KeyId, MemoryHistory, MemoryId, MemoryStatus, MemoryUpdate, ProjectId,
};

use super::fault::Fault;
use super::memory_changes::{Change, insert, recorded};
use super::sql::Db;
use super::value::params;
use super::{asides, memories, projects, revisions, row, skills};
use crate::clock;
use crate::review::{self, Act, MemoryState, NewChange, RestoredState};
use crate::store::MemoryKey;
use crate::store::sketches::text_sketch;

pub(super) async fn update(
    db: &Db<'_>,
    project: &ProjectId,
    id: &MemoryId,
    update: &MemoryUpdate,
    by: Option<&KeyId>,
    now: Timestamp,
) -> Result<Option<MemoryHistory>, Fault> {
    let Some(project_key) = projects::lock(db, project).await? else {
        return Ok(None);
    };
    let rows = db
        .query(
            "SELECT key, generation, reflection, status, aside IS NOT NULL FROM memory \
             WHERE id = $1 AND project = $2 AND status <> 'withdrawn'",
            params![id.as_str(), project_key],
        )
        .await?;
    let Some(found) = rows.first() else {
        return Ok(None);
    };
    let (key, generation): (MemoryKey, i64) = (found.get(0)?, found.get(1)?);
    let mut state = MemoryState {
        reflection: row::json(found, 2)?,
        status: row::name(found, 3)?,
    };
    let is_aside: bool = found.get(4)?;
    let restores = is_aside && update.status == Some(MemoryStatus::Active);
    let into = update.merge_into.as_ref();
    if let Some(into) = into {
        asides::check_merge(db, project_key, id, into).await?;
    }
    let known = recorded(db, key).await?;
    let changes = review::edit_memory(&mut state, generation, &known, update, by)?;
    for NewChange {
        kind,
        status_before,
        act,
    } in &changes
    {
        let (edit, before) = match act {
            Act::Edit { edit, before } => (Some(row::to_json(edit)?), Some(row::to_json(before)?)),
            Act::SetStatus(_) => (None, None),
        };
        insert(
            db,
            project_key,
            &Change {
                memory: id.as_str(),
                kind,
                generation,
                status_before,
                before,
                edit,
                note: update.note.as_deref(),
                key: by,
                at: &clock::text(now),
                closed: false,
                automatic: false,
                merged_into: into.filter(|_| *kind == ChangeKind::Merged),
            },
        )
        .await?;
    }
    if restores {
        asides::clear(db, key).await?;
    }
    if let Some(into) = into {
        asides::merge(db, project_key, key, into, now).await?;
    }
    write_state(db, project_key, key, &state.reflection, Some(&state.status)).await?;
    if update.reflection.is_some() || into.is_some() || state.status == MemoryStatus::Quarantined {
        skills::remove_of(db, project_key, id).await?;
    }
    memories::get(db, project, id).await
}

pub(super) async fn delete(
    db: &Db<'_>,
    project: &ProjectId,
    id: &MemoryId,
    by: Option<&KeyId>,
    now: Timestamp,
) -> Result<bool, Fault> {
    match projects::lock(db, project).await? {
        Some(project) => delete_in(db, project, id, by, now).await,
        None => Ok(false),
    }
}

/// Deletes a memory of the project in this row, and records the deletion.
pub(super) async fn delete_in(
    db: &Db<'_>,
    project: i64,
    id: &MemoryId,
    by: Option<&KeyId>,
    now: Timestamp,
) -> Result<bool, Fault> {
    let status = match memories::status(db, project, id).await? {
        Some(status) if status != "withdrawn" => MemoryStatus::from(status.as_str()),
        _ => return Ok(false),
    };
    db.execute(
        "UPDATE memory_change SET closed = true, before = NULL, edit = NULL WHERE project \
             = $1 AND memory_id = $2",
        params![project, id.as_str()],
    )
    .await?;
    memories::remove(db, project, id).await?;
    insert(
        db,
        project,
        &Change {
            memory: id.as_str(),
            kind: &ChangeKind::Deleted,
            generation: 0,
            status_before: &status,
            before: None,
            edit: None,
            note: None,
            key: by,
            at: &clock::text(now),
            closed: true,
            automatic: false,
            merged_into: None,
        },
    )
    .await?;
    Ok(true)
}

/// Writes what an undo makes of a memory.
pub(super) async fn restore_state(
    db: &Db<'_>,
    project: i64,
    state: &RestoredState,
) -> Result<(), Fault> {
    for key in &state.forget {
        db.execute("DELETE FROM memory_change WHERE key = $1", params![key])
            .await?;
    }
    for change in &state.changes {
        let before = change.before.as_ref().map(row::to_json).transpose()?;
        db.execute(
            "UPDATE memory_change SET generation = $2, status_before = $3, before = $4 WHERE \
             key = $1",
            params![
                change.key,
                change.generation,
                change.status_before.as_str(),
                before,
            ],
        )
        .await?;
    }
    let status = state.status.as_ref();
    write_state(db, project, state.memory, &state.reflection, status).await
}

/// Writes the text and, unless it is `None`, the status of a memory.
async fn write_state(
    db: &Db<'_>,
    project: i64,
    key: MemoryKey,
    reflection: &crate::model::Reflection,
    status: Option<&MemoryStatus>,
) -> Result<(), Fault> {
    db.execute(
        "UPDATE memory SET reflection = $2, status = coalesce($3, status), revision = $4, \
             text_sketch = $5 WHERE key = $1",
        params![
            key,
            row::to_json(reflection)?,
            status.map(MemoryStatus::as_str),
            revisions::next_revision(db, project).await?,
            text_sketch(reflection),
        ],
    )
    .await?;
    Ok(())
}
