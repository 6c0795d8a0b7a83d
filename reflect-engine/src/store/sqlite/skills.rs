//! The skills of projects.

use reflect_types::{MemoryId, MemoryRecord, ProjectId, Reflection, Skill};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;
use super::{projects, row};
use crate::store::SkillWrite;

/// The skill of a project.
pub(super) fn get(db: &Connection, id: &ProjectId) -> Result<Option<Skill>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT s.content, s.version, s.created_at, s.sources \
         FROM skill s JOIN project p ON p.key = s.project WHERE p.id = ?1",
    )?;
    let mut rows = select.query([id.as_str()])?;
    let Some(found) = rows.next()? else {
        return Ok(None);
    };
    Ok(Some(Skill {
        content: found.get(0)?,
        version: row::count(found, 1)?,
        created_at: found.get(2)?,
        source_memory_ids: row::json(found, 3)?,
    }))
}

/// The memories that a project's skill was written from, and whether one of them is missing or not
/// active.
pub(super) fn sources(db: &Connection, project: i64) -> Result<(Vec<MemoryId>, bool), Fault> {
    let mut select = db.prepare_cached(
        "SELECT s.sources, EXISTS (SELECT 1 FROM json_each(s.sources) j WHERE NOT EXISTS ( \
             SELECT 1 FROM memory m WHERE m.project = s.project AND m.id = j.value \
                 AND m.status = 'active' AND m.aside IS NULL)) \
         FROM skill s WHERE s.project = ?1",
    )?;
    let mut rows = select.query([project])?;
    match rows.next()? {
        Some(found) => Ok((row::json(found, 0)?, found.get(1)?)),
        None => Ok((Vec::new(), false)),
    }
}

/// Deletes the skill if it was written from this memory.
pub(super) fn remove_of(db: &Connection, project: i64, id: &MemoryId) -> Result<(), Fault> {
    db.prepare_cached(
        "DELETE FROM skill WHERE project = ?1 \
             AND EXISTS (SELECT 1 FROM json_each(sources) WHERE value = ?2)",
    )?
    .execute(params![project, id.as_str()])?;
    Ok(())
}

/// Stores the next version of a skill, unless one of the memories it was written from has changed.
pub(super) fn put(
    db: &Connection,
    id: &ProjectId,
    skill: &Skill,
    sources: &[MemoryRecord],
) -> Result<SkillWrite, Fault> {
    let version = i64::try_from(skill.version)
        .map_err(|_| Fault::Data(format!("a skill has the invalid version {}", skill.version)))?;
    let project = projects::existing(db, id)?;
    for source in sources {
        if !is_unchanged(db, project, source)? {
            return Ok(SkillWrite::SourcesChanged);
        }
    }
    let current: Option<i64> = db
        .prepare_cached("SELECT version FROM skill WHERE project = ?1")?
        .query_row([project], |row| row.get(0))
        .optional()?;
    if current.unwrap_or(0) + 1 != version {
        return Ok(SkillWrite::NotNext);
    }
    db.prepare_cached(
        "INSERT OR REPLACE INTO skill (project, version, created_at, sources, content) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![
        project,
        version,
        skill.created_at,
        row::to_json(&skill.source_memory_ids)?,
        skill.content,
    ])?;
    Ok(SkillWrite::Stored)
}

/// Whether a memory is active and has the content that was read.
fn is_unchanged(db: &Connection, project: i64, read: &MemoryRecord) -> Result<bool, Fault> {
    let mut select = db.prepare_cached(
        "SELECT reflection, success, task FROM memory \
         WHERE project = ?1 AND id = ?2 AND status = 'active' AND aside IS NULL",
    )?;
    let mut rows = select.query(params![project, read.id.as_str()])?;
    let Some(found) = rows.next()? else {
        return Ok(false);
    };
    let reflection: Reflection = row::json(found, 0)?;
    Ok(reflection == read.reflection
        && found.get::<_, bool>(1)? == read.success
        && found.get::<_, String>(2)? == read.task)
}
