//! The skills of projects.

use std::collections::BTreeSet;

use reflect_types::{MemoryId, MemoryRecord, ProjectId, Skill};

use super::db::Db;
use super::fault::Fault;
use super::projects;
use super::row::to_json;
use super::value::params;
use crate::error::Error;
use crate::model::Reflection;
use crate::store::SkillWrite;

/// The skill of a project.
pub(super) async fn get(db: &Db<'_>, id: &ProjectId) -> Result<Option<Skill>, Fault> {
    let select = "SELECT s.content, s.version, s.created_at, s.sources FROM skill s \
         JOIN project p ON p.key = s.project WHERE p.id = $1";
    let Some(found) = db.first(select, &params![id]).await? else {
        return Ok(None);
    };
    Ok(Some(Skill {
        content: found.get("content")?,
        version: found.get("version")?,
        created_at: found.get("created_at")?,
        source_memory_ids: found.json("sources")?,
    }))
}

/// The memories that a project's skill was written from, and whether one of them is missing or not active.
pub(super) async fn sources(db: &Db<'_>, project: i64) -> Result<(Vec<MemoryId>, bool), Fault> {
    let Some(sources) = source_ids(db, project).await? else {
        return Ok((Vec::new(), false));
    };
    let ids: BTreeSet<&str> = sources.iter().map(MemoryId::as_str).collect();
    let ids = Vec::from_iter(ids);
    let active: i64 = db
        .one(
            "SELECT count(*) FROM memory WHERE project = $1 AND id = ANY($2) AND status = 'active' \
                 AND hidden IS NULL",
            &params![project, ids],
        )
        .await?
        .first()?;
    let is_stale = usize::try_from(active).is_ok_and(|active| active < ids.len());
    Ok((sources, is_stale))
}

/// Deletes the skill if it was written from one of these memories.
pub(super) async fn remove_of(
    db: &Db<'_>,
    project: i64,
    memories: &[&MemoryId],
) -> Result<(), Fault> {
    if memories.is_empty() {
        return Ok(());
    }
    let sources = source_ids(db, project).await?;
    if sources.is_some_and(|sources| sources.iter().any(|id| memories.contains(&id))) {
        remove(db, project).await?;
    }
    Ok(())
}

/// Deletes the skill.
pub(super) async fn remove(db: &Db<'_>, project: i64) -> Result<(), Fault> {
    db.execute("DELETE FROM skill WHERE project = $1", &params![project])
        .await
        .map(drop)
}

/// The memories that the project's skill was written from, if it has one.
async fn source_ids(db: &Db<'_>, project: i64) -> Result<Option<Vec<MemoryId>>, Fault> {
    let select = "SELECT sources FROM skill WHERE project = $1";
    let found = db.first(select, &params![project]).await?;
    found.map(|row| row.json("sources")).transpose()
}

/// Stores the next version of a skill, unless one of the memories it was written from has changed.
pub(super) async fn put(
    db: &Db<'_>,
    id: &ProjectId,
    skill: &Skill,
    sources: &[MemoryRecord],
) -> Result<SkillWrite, Fault> {
    let project = projects::lock(db, id).await?;
    let project = project.ok_or_else(|| Error::NoProject(id.clone()))?;
    for source in sources {
        if !is_unchanged(db, project, source).await? {
            return Ok(SkillWrite::SourcesChanged);
        }
    }
    let select = "SELECT version FROM skill WHERE project = $1";
    let current: Option<u64> = db.value(select, &params![project]).await?;
    if current.unwrap_or(0) + 1 != skill.version {
        return Ok(SkillWrite::NotNext);
    }
    remove(db, project).await?;
    insert(db, project, skill).await?;
    Ok(SkillWrite::Stored)
}

/// Inserts a skill, unless the project has one. Returns whether it did.
pub(super) async fn insert(db: &Db<'_>, project: i64, skill: &Skill) -> Result<bool, Fault> {
    let stored = db
        .execute(
            "INSERT INTO skill (project, version, created_at, sources, content) \
                 VALUES ($1, $2, $3, $4, $5) ON CONFLICT (project) DO NOTHING",
            &params![
                project,
                skill.version,
                skill.created_at,
                to_json(&skill.source_memory_ids)?,
                skill.content,
            ],
        )
        .await?;
    Ok(stored > 0)
}

/// Whether a memory is active and has the content that was read.
async fn is_unchanged(db: &Db<'_>, project: i64, read: &MemoryRecord) -> Result<bool, Fault> {
    let select = "SELECT reflection, success, task FROM memory \
         WHERE project = $1 AND id = $2 AND status = 'active' AND hidden IS NULL";
    let Some(found) = db.first(select, &params![project, read.id]).await? else {
        return Ok(false);
    };
    let reflection: Reflection = found.json("reflection")?;
    Ok(reflection == read.reflection
        && found.get::<bool>("success")? == read.success
        && found.text("task")? == read.task)
}
