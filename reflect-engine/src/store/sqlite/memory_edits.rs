//! Editing, quarantining, restoring and deleting memories.

use jiff::Timestamp;
use reflect_types::{
    ChangeKind, KeyId, MemoryHistory, MemoryId, MemoryStatus, MemoryUpdate, ProjectId,
};
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::memory_changes::{Change, insert, recorded};
use super::{asides, memories, projects, row, skills};
use crate::clock;
use crate::review::{self, Act, MemoryState, NewChange, RestoredState};
use crate::store::MemoryKey;
use crate::store::sketches::text_sketch;

pub(super) fn update(
    db: &Connection,
    project: &ProjectId,
    id: &MemoryId,
    update: &MemoryUpdate,
    by: Option<&KeyId>,
    now: Timestamp,
) -> Result<Option<MemoryHistory>, Fault> {
    let Some(project_key) = projects::key(db, project)? else {
        return Ok(None);
    };
    let mut select = db.prepare_cached(
        "SELECT key, generation, reflection, status, aside IS NOT NULL FROM memory \
         WHERE id = ?1 AND project = ?2 AND status <> 'withdrawn'",
    )?;
    let mut rows = select.query(params![id.as_str(), project_key])?;
    let Some(found) = rows.next()? else {
        return Ok(None);
    };
    let (key, generation): (MemoryKey, i64) = (found.get(0)?, found.get(1)?);
    let mut state = MemoryState {
        reflection: row::json(found, 2)?,
        status: row::name(found, 3)?,
    };
    let restores = found.get(4)? && update.status == Some(MemoryStatus::Active);
    let into = update.merge_into.as_ref();
    if let Some(into) = into {
        asides::check_merge(db, project_key, id, into)?;
    }
    let known = recorded(db, key)?;
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
        )?;
    }
    if restores {
        asides::clear(db, key)?;
    }
    if let Some(into) = into {
        asides::merge(db, project_key, key, into, now)?;
    }
    write_state(db, project_key, key, &state.reflection, Some(&state.status))?;
    if update.reflection.is_some() || into.is_some() || state.status == MemoryStatus::Quarantined {
        skills::remove_of(db, project_key, id)?;
    }
    memories::get(db, project, id)
}

pub(super) fn delete(
    db: &Connection,
    project: &ProjectId,
    id: &MemoryId,
    by: Option<&KeyId>,
    now: Timestamp,
) -> Result<bool, Fault> {
    match projects::key(db, project)? {
        Some(project) => delete_in(db, project, id, by, now),
        None => Ok(false),
    }
}

/// Deletes a memory of the project in this row, and records the deletion.
pub(super) fn delete_in(
    db: &Connection,
    project: i64,
    id: &MemoryId,
    by: Option<&KeyId>,
    now: Timestamp,
) -> Result<bool, Fault> {
    let status = match memories::status(db, project, id)? {
        Some(status) if status != "withdrawn" => MemoryStatus::from(status.as_str()),
        _ => return Ok(false),
    };
    db.prepare_cached(
        "UPDATE memory_change SET closed = 1, before = NULL, edit = NULL \
         WHERE project = ?1 AND memory_id = ?2",
    )?
    .execute(params![project, id.as_str()])?;
    memories::remove(db, project, id)?;
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
    )?;
    Ok(true)
}

/// Writes what an undo makes of a memory.
pub(super) fn restore_state(
    db: &Connection,
    project: i64,
    state: &RestoredState,
) -> Result<(), Fault> {
    for key in &state.forget {
        db.prepare_cached("DELETE FROM memory_change WHERE key = ?1")?
            .execute([key])?;
    }
    for change in &state.changes {
        let before = change.before.as_ref().map(row::to_json).transpose()?;
        db.prepare_cached(
            "UPDATE memory_change SET generation = ?2, status_before = ?3, before = ?4 WHERE key = ?1",
        )?
        .execute(params![
            change.key,
            change.generation,
            change.status_before.as_str(),
            before,
        ])?;
    }
    let status = state.status.as_ref();
    write_state(db, project, state.memory, &state.reflection, status)
}

/// Writes the text and, unless it is `None`, the status of a memory.
fn write_state(
    db: &Connection,
    project: i64,
    key: MemoryKey,
    reflection: &crate::model::Reflection,
    status: Option<&MemoryStatus>,
) -> Result<(), Fault> {
    db.prepare_cached(
        "UPDATE memory SET reflection = ?2, status = coalesce(?3, status), revision = ?4, \
             text_sketch = ?5 WHERE key = ?1",
    )?
    .execute(params![
        key,
        row::to_json(reflection)?,
        status.map(MemoryStatus::as_str),
        projects::next_revision(db, project)?,
        text_sketch(reflection),
    ])?;
    Ok(())
}
