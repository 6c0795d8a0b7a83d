//! Editing, quarantining, restoring and deleting memories.

use jiff::Timestamp;
use reflect_types::{
    ChangeKind, KeyId, MemoryHistory, MemoryId, MemoryStatus, MemoryUpdate, ProjectId,
};

use super::db::Db;
use super::fault::Fault;
use super::memory_changes::{self, Change};
use super::row::to_json;
use super::value::{Rows, params};
use super::{hiding, memories, memory_rows, memory_writes, projects, skills};
use crate::clock;
use crate::review::{self, Act, MemoryState, NewChange, RestoredState};
use crate::store::MemoryKey;
use crate::store::sketches::text_sketch;

pub(super) async fn update(
    db: &Db<'_>,
    project_id: &ProjectId,
    id: &MemoryId,
    update: &MemoryUpdate,
    by: Option<&KeyId>,
    now: Timestamp,
) -> Result<Option<MemoryHistory>, Fault> {
    let Some(project) = projects::lock(db, project_id).await? else {
        return Ok(None);
    };
    let select = "SELECT key, generation, reflection, status, hidden IS NOT NULL AS is_hidden \
         FROM memory WHERE project = $1 AND id = $2 AND status <> 'withdrawn'";
    let Some(found) = db.first(select, &params![project, id]).await? else {
        return Ok(None);
    };
    let (key, generation): (MemoryKey, i64) = (found.get("key")?, found.get("generation")?);
    let mut state = MemoryState {
        reflection: found.json("reflection")?,
        status: found.get("status")?,
    };
    let is_hidden: bool = found.get("is_hidden")?;
    let restores = is_hidden && update.status == Some(MemoryStatus::Active);
    let into = update.merge_into.as_ref();
    if let Some(into) = into {
        hiding::check_merge(db, project, id, into).await?;
    }
    let mut known = memory_changes::recorded(db, project, &[key]).await?;
    let known = known.remove(&key).unwrap_or_default();
    let changes = review::edit_memory(&mut state, generation, &known, update, by)?;
    for NewChange {
        kind,
        status_before,
        act,
    } in &changes
    {
        let (edit, before) = match act {
            Act::Edit { edit, before } => (Some(to_json(edit)?), Some(to_json(before)?)),
            Act::SetStatus(_) => (None, None),
        };
        let change = Change {
            memory: id,
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
        };
        memory_changes::insert(db, project, &change).await?;
    }
    if restores {
        hiding::clear(db, project, key).await?;
    }
    if let Some(into) = into {
        hiding::merge(db, project, key, into, now).await?;
    }
    let state = RestoredState {
        memory: key,
        reflection: state.reflection,
        status: Some(state.status),
        is_rewritten: false,
        forget: Vec::new(),
        changes: Vec::new(),
    };
    write_states(db, project, std::slice::from_ref(&state)).await?;
    let is_gone = state.status == Some(MemoryStatus::Quarantined);
    if update.reflection.is_some() || into.is_some() || is_gone {
        skills::remove_of(db, project, &[id]).await?;
    }
    memories::get(db, project_id, id).await
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

/// Deletes a memory, and records the deletion.
pub(super) async fn delete_in(
    db: &Db<'_>,
    project: i64,
    id: &MemoryId,
    by: Option<&KeyId>,
    now: Timestamp,
) -> Result<bool, Fault> {
    let status = match memory_rows::status(db, project, id).await? {
        Some(status) if status != "withdrawn" => MemoryStatus::from(status.as_str()),
        _ => return Ok(false),
    };
    let close = "UPDATE memory_change SET closed = true, before = NULL, edit = NULL \
         WHERE project = $1 AND memory_id = $2";
    db.execute(close, &params![project, id]).await?;
    memory_writes::remove(db, project, &[id]).await?;
    let deletion = Change {
        memory: id,
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
    };
    memory_changes::insert(db, project, &deletion).await?;
    Ok(true)
}

/// Writes what an undo makes of memories.
pub(super) async fn restore_states(
    db: &Db<'_>,
    project: i64,
    states: &[RestoredState],
) -> Result<(), Fault> {
    let forgotten: Vec<i64> = states
        .iter()
        .flat_map(|state| state.forget.clone())
        .collect();
    if !forgotten.is_empty() {
        let forget = "DELETE FROM memory_change WHERE project = $1 AND key = ANY($2)";
        db.execute(forget, &params![project, forgotten]).await?;
    }
    for change in states.iter().flat_map(|state| &state.changes) {
        let before = change.before.as_ref().map(to_json).transpose()?;
        let update = "UPDATE memory_change SET generation = $3, status_before = $4, before = $5 \
             WHERE project = $1 AND key = $2";
        let values = params![
            project,
            change.key,
            change.generation,
            change.status_before,
            before
        ];
        db.execute(update, &values).await?;
    }
    write_states(db, project, states).await
}

/// Writes the texts and, unless it is `None`, the status of memories.
async fn write_states(db: &Db<'_>, project: i64, states: &[RestoredState]) -> Result<(), Fault> {
    if states.is_empty() {
        return Ok(());
    }
    let texts = states.iter().map(|state| {
        let reflection = &state.reflection;
        Ok((to_json(reflection)?, text_sketch(reflection)))
    });
    let texts: Vec<(String, Option<String>)> = texts.collect::<Result<_, Fault>>()?;
    let revisions = projects::next_revisions(db, project, states.len()).await?;
    let mut rows = Rows::new(
        "project bigint, memory bigint, reflection text, status text, revision bigint, \
             text_sketch text",
    );
    for ((state, (reflection, sketch)), revision) in states.iter().zip(&texts).zip(revisions) {
        rows.push(params![
            project,
            state.memory,
            reflection,
            state.status,
            revision,
            sketch,
        ]);
    }
    db.execute_rows(
        "UPDATE memory SET reflection = r.reflection, status = coalesce(r.status, memory.status), \
             revision = r.revision, text_sketch = r.text_sketch \
         FROM {rows} WHERE memory.project = r.project AND memory.key = r.memory",
        &rows,
    )
    .await
}
