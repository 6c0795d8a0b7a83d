//! Projects and their settings.

use reflect_types::{Approval, ProjectId, ProjectSettings, ProjectSummary, Ranking, UpdateProject};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::fault::Fault;
use super::row;
use crate::error::Error;
use crate::store::RecallSettings;

pub(super) fn list(db: &Connection) -> Result<Vec<ProjectId>, Fault> {
    let mut select = db.prepare_cached("SELECT id FROM project ORDER BY id")?;
    let ids = select.query_map([], |row| Ok(ProjectId::new(row.get::<_, String>(0)?)))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

/// The counts and settings of a project, or of all, by id.
pub(super) fn summaries(
    db: &Connection,
    only: Option<&ProjectId>,
) -> Result<Vec<ProjectSummary>, Fault> {
    let mut select = db.prepare_cached(&format!(
        "SELECT p.id, (SELECT count(*) FROM trace t WHERE t.project = p.key), \
             (SELECT count(*) FROM memory m WHERE m.project = p.key AND m.status <> 'withdrawn'), \
             {SETTINGS} FROM project p WHERE ?1 IS NULL OR p.id = ?1 ORDER BY p.id",
    ))?;
    let mut rows = select.query([only.map(ProjectId::as_str)])?;
    let mut summaries = Vec::new();
    while let Some(found) = rows.next()? {
        summaries.push(ProjectSummary {
            project_id: ProjectId::new(found.get::<_, String>(0)?),
            traces: row::count(found, 1)?,
            memories: row::count(found, 2)?,
            settings: settings_of(found, 3)?,
        });
    }
    Ok(summaries)
}

pub(super) fn settings(db: &Connection, id: &ProjectId) -> Result<ProjectSettings, Fault> {
    let select = format!("SELECT {SETTINGS} FROM project p WHERE p.id = ?1");
    let mut select = db.prepare_cached(&select)?;
    let mut rows = select.query([id.as_str()])?;
    let found = rows.next()?.map(|found| settings_of(found, 0));
    Ok(found.transpose()?.unwrap_or_default())
}

/// The columns of the settings, for [`settings_of`].
const SETTINGS: &str =
    "p.max_alpha, p.max_memories, p.ranking, p.approve, p.control, p.keep_personal_values";

/// The settings in the columns from `first` on.
fn settings_of(found: &Row<'_>, first: usize) -> Result<ProjectSettings, Fault> {
    Ok(ProjectSettings {
        max_alpha: found.get(first)?,
        max_memories: row::optional_count(found, first + 1)?,
        ranking: row::optional_name(found, first + 2)?,
        approve: row::optional_name(found, first + 3)?,
        control: found.get(first + 4)?,
        keep_personal_values: found.get(first + 5)?,
    })
}

pub(super) fn update(
    db: &Connection,
    id: &ProjectId,
    update: &UpdateProject,
    creates: bool,
) -> Result<(), Fault> {
    let key = row(db, id, creates)?;
    let set = |column: &str, value: &dyn ToSql| {
        db.prepare_cached(&format!("UPDATE project SET {column} = ?2 WHERE key = ?1"))?
            .execute(params![key, value])
    };
    if let Some(limit) = update.max_alpha {
        set("max_alpha", &limit)?;
    }
    if let Some(limit) = update.max_memories {
        set("max_memories", &limit.map(row::stored_count))?;
    }
    if let Some(ranking) = &update.ranking {
        set("ranking", &ranking.as_ref().map(Ranking::as_str))?;
    }
    if let Some(approve) = &update.approve {
        set("approve", &approve.as_ref().map(Approval::as_str))?;
    }
    if let Some(share) = update.control {
        set("control", &share)?;
    }
    if let Some(keep) = update.keep_personal_values {
        set("keep_personal_values", &keep)?;
    }
    Ok(())
}

/// What the answers of the project in this row depend on.
pub(super) fn recall_settings(db: &Connection, key: i64) -> Result<RecallSettings, Fault> {
    let mut select =
        db.prepare_cached("SELECT max_memories, ranking, approve FROM project WHERE key = ?1")?;
    let mut rows = select.query([key])?;
    let Some(found) = rows.next()? else {
        return Ok(RecallSettings::default());
    };
    Ok(RecallSettings {
        max_memories: row::optional_count(found, 0)?,
        ranking: row::optional_name(found, 1)?,
        approve: row::optional_name(found, 2)?,
        ..RecallSettings::default()
    })
}

/// The project's key.
pub(super) fn key(db: &Connection, id: &ProjectId) -> Result<Option<i64>, Fault> {
    Ok(revision(db, id)?.map(|(key, _)| key))
}

/// The project's key and its current revision.
pub(super) fn revision(db: &Connection, id: &ProjectId) -> Result<Option<(i64, i64)>, Fault> {
    Ok(db
        .prepare_cached("SELECT key, revision FROM project WHERE id = ?1")?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?)
}

/// The next revision of the project's memories.
pub(super) fn next_revision(db: &Connection, project: i64) -> Result<i64, Fault> {
    db.prepare_cached("UPDATE project SET revision = revision + 1 WHERE key = ?1")?
        .execute([project])?;
    Ok(db
        .prepare_cached("SELECT revision FROM project WHERE key = ?1")?
        .query_row([project], |row| row.get(0))?)
}

/// The project's key, after creating it if it is missing and `creates`.
pub(super) fn row(db: &Connection, id: &ProjectId, creates: bool) -> Result<i64, Fault> {
    if creates {
        return ensure(db, id);
    }
    existing(db, id)
}

/// The key of a project that has to exist.
pub(super) fn existing(db: &Connection, id: &ProjectId) -> Result<i64, Fault> {
    key(db, id)?.ok_or_else(|| Error::NoProject(id.clone()).into())
}

/// The project's key, after creating it if it is missing. The id of a new project is checked.
pub(super) fn ensure(db: &Connection, id: &ProjectId) -> Result<i64, Fault> {
    if let Some(key) = key(db, id)? {
        return Ok(key);
    }
    id.validate_new().map_err(Error::from)?;
    db.prepare_cached("INSERT INTO project (id) VALUES (?1)")?
        .execute([id.as_str()])?;
    Ok(db.last_insert_rowid())
}

pub(super) fn delete(db: &Connection, id: &ProjectId) -> Result<bool, Fault> {
    let deleted = db
        .prepare_cached("DELETE FROM project WHERE id = ?1")?
        .execute([id.as_str()])?;
    Ok(deleted > 0)
}
