//! The skills of projects.

use std::collections::BTreeSet;

use reflect_types::{MemoryId, MemoryRecord, ProjectId, Reflection, Skill};

use super::fault::Fault;
use super::sql::Db;
use super::value::params;
use super::{projects, row};
use crate::error::Error;
use crate::store::SkillWrite;

/// The skill of a project.
pub(super) async fn get(db: &Db<'_>, id: &ProjectId) -> Result<Option<Skill>, Fault> {
    let rows = db
        .query(
            "SELECT s.content, s.version, s.created_at, s.sources FROM skill s JOIN project p \
             ON p.key = s.project WHERE p.id = $1",
            params![id.as_str()],
        )
        .await?;
    let Some(found) = rows.first() else {
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
pub(super) async fn sources(db: &Db<'_>, project: i64) -> Result<(Vec<MemoryId>, bool), Fault> {
    let Some(sources) = source_ids(db, project).await? else {
        return Ok((Vec::new(), false));
    };
    let ids: BTreeSet<String> = sources.iter().map(ToString::to_string).collect();
    let ids: Vec<String> = ids.into_iter().collect();
    let active = db
        .column::<i64>(
            "SELECT key FROM memory WHERE project = $1 AND id = ANY($2) AND status = 'active' \
                 AND aside IS NULL",
            params![project, ids.as_slice()],
        )
        .await?;
    Ok((sources, active.len() < ids.len()))
}

/// Deletes the skill if it was written from this memory.
pub(super) async fn remove_of(db: &Db<'_>, project: i64, id: &MemoryId) -> Result<(), Fault> {
    let sources = source_ids(db, project).await?;
    if sources.is_some_and(|sources| sources.contains(id)) {
        let delete = "DELETE FROM skill WHERE project = $1";
        db.execute(delete, params![project]).await?;
    }
    Ok(())
}

/// The memories that the project's skill was written from, if it has one.
async fn source_ids(db: &Db<'_>, project: i64) -> Result<Option<Vec<MemoryId>>, Fault> {
    let select = "SELECT sources FROM skill WHERE project = $1";
    let found = db.first(select, params![project]).await?;
    found.map(|row| row::json(&row, 0)).transpose()
}

/// Stores the next version of a skill, unless one of the memories it was written from has changed.
pub(super) async fn put(
    db: &Db<'_>,
    id: &ProjectId,
    skill: &Skill,
    sources: &[MemoryRecord],
) -> Result<SkillWrite, Fault> {
    let version = i64::try_from(skill.version)
        .map_err(|_| Fault::Data(format!("a skill has the invalid version {}", skill.version)))?;
    let project = projects::lock(db, id).await?;
    let project = project.ok_or_else(|| Error::NoProject(id.clone()))?;
    for source in sources {
        if !is_unchanged(db, project, source).await? {
            return Ok(SkillWrite::SourcesChanged);
        }
    }
    let current: Option<i64> = db
        .value(
            "SELECT version FROM skill WHERE project = $1",
            params![project],
        )
        .await?;
    if current.unwrap_or(0) + 1 != version {
        return Ok(SkillWrite::NotNext);
    }
    db.execute(
        "INSERT INTO skill (project, version, created_at, sources, content) VALUES ($1, \
             $2, $3, $4, $5) ON CONFLICT (project) DO UPDATE SET version = excluded.version, \
             created_at = excluded.created_at, sources = excluded.sources, content = \
             excluded.content",
        params![
            project,
            version,
            skill.created_at,
            row::to_json(&skill.source_memory_ids)?,
            skill.content,
        ],
    )
    .await?;
    Ok(SkillWrite::Stored)
}

/// Whether a memory is active and has the content that was read.
async fn is_unchanged(db: &Db<'_>, project: i64, read: &MemoryRecord) -> Result<bool, Fault> {
    let rows = db
        .query(
            "SELECT reflection, success, task FROM memory WHERE project = $1 AND id = $2 AND \
             status = 'active' \
                 AND aside IS NULL",
            params![project, read.id.as_str()],
        )
        .await?;
    let Some(found) = rows.first() else {
        return Ok(false);
    };
    let reflection: Reflection = row::json(found, 0)?;
    Ok(reflection == read.reflection
        && found.get::<bool>(1)? == read.success
        && found.get::<String>(2)? == read.task)
}
