//! Projects and their counts.

use reflect_types::{ProjectId, ProjectSummary, Stats};

use super::fault::Fault;
use super::row;
use super::sql::Db;
use super::value::params;
use crate::error::Error;

pub(super) async fn list(db: &Db<'_>) -> Result<Vec<ProjectId>, Fault> {
    let ids = db.query("SELECT id FROM project ORDER BY id", &[]).await?;
    let ids = ids
        .iter()
        .map(|row| Ok(ProjectId::new(row.get::<String>(0)?)));
    ids.collect()
}

/// The counts and settings of a project, or of all, by id.
pub(super) async fn summaries(
    db: &Db<'_>,
    only: Option<&ProjectId>,
) -> Result<Vec<ProjectSummary>, Fault> {
    let rows = db
        .query(
            "SELECT p.id, (SELECT count(*) FROM trace t WHERE t.project = p.key), (SELECT \
             count(*) FROM memory m WHERE m.project = p.key AND m.status <> 'withdrawn'), \
             p.max_alpha, p.max_memories FROM project p WHERE $1::text IS NULL OR p.id = $1 ORDER BY p.id",
            params![only.map(ProjectId::as_str)],
        )
        .await?;
    let mut summaries = Vec::new();
    for found in &rows {
        summaries.push(ProjectSummary {
            project_id: ProjectId::new(found.get::<String>(0)?),
            traces: row::count(found, 1)?,
            memories: row::count(found, 2)?,
            max_alpha: found.get(3)?,
            max_memories: row::optional_count(found, 4)?,
        });
    }
    Ok(summaries)
}

pub(super) async fn max_alpha(db: &Db<'_>, id: &ProjectId) -> Result<Option<f64>, Fault> {
    let found = db
        .first(
            "SELECT max_alpha FROM project WHERE id = $1",
            params![id.as_str()],
        )
        .await?;
    found.map_or(Ok(None), |row| row.get(0))
}

pub(super) async fn set_max_alpha(
    db: &Db<'_>,
    id: &ProjectId,
    limit: Option<f64>,
) -> Result<(), Fault> {
    let changed = db
        .execute(
            "UPDATE project SET max_alpha = $2 WHERE id = $1",
            params![id.as_str(), limit],
        )
        .await?;
    if changed == 0 {
        return Err(Error::NoProject(id.clone()).into());
    }
    Ok(())
}

pub(super) async fn set_max_memories(
    db: &Db<'_>,
    id: &ProjectId,
    limit: Option<u64>,
) -> Result<(), Fault> {
    let changed = db
        .execute(
            "UPDATE project SET max_memories = $2 WHERE id = $1",
            params![id.as_str(), limit.map(row::stored_count)],
        )
        .await?;
    if changed == 0 {
        return Err(Error::NoProject(id.clone()).into());
    }
    Ok(())
}

/// The number of memories that the project in this row keeps in answers.
pub(super) async fn max_memories(db: &Db<'_>, key: i64) -> Result<Option<u64>, Fault> {
    let found = db
        .first(
            "SELECT max_memories FROM project WHERE key = $1",
            params![key],
        )
        .await?;
    found.map_or(Ok(None), |row| row::optional_count(&row, 0))
}

/// The project's key.
pub(super) async fn key(db: &Db<'_>, id: &ProjectId) -> Result<Option<i64>, Fault> {
    Ok(revision(db, id).await?.map(|(key, _)| key))
}

/// The project's key and its current revision.
pub(super) async fn revision(db: &Db<'_>, id: &ProjectId) -> Result<Option<(i64, i64)>, Fault> {
    let found = db
        .first(
            "SELECT key, revision FROM project WHERE id = $1",
            params![id.as_str()],
        )
        .await?;
    found.map(|row| Ok((row.get(0)?, row.get(1)?))).transpose()
}

/// The key of a project to store traces in, after creating it if it is missing and `creates`. Until the
/// end of the transaction, [`key_alone`] waits.
pub(super) async fn key_to_fill(db: &Db<'_>, id: &ProjectId, creates: bool) -> Result<i64, Fault> {
    let key =
        "SELECT key, pg_advisory_xact_lock_shared(1, hashint8(key)) FROM project WHERE id = $1";
    if let Some(key) = db.value(key, params![id.as_str()]).await? {
        return Ok(key);
    }
    if creates {
        ensure(db, id).await?;
    }
    let created = db.value(key, params![id.as_str()]).await?;
    created.ok_or_else(|| Error::NoProject(id.clone()).into())
}

/// The project's key, once all that store traces in it have ended.
pub(super) async fn key_alone(db: &Db<'_>, id: &ProjectId) -> Result<Option<i64>, Fault> {
    let key = "SELECT key, pg_advisory_xact_lock(1, hashint8(key)) FROM project WHERE id = $1";
    db.value(key, params![id.as_str()]).await
}

/// The key of a project that has to exist.
pub(super) async fn existing(db: &Db<'_>, id: &ProjectId) -> Result<i64, Fault> {
    key(db, id)
        .await?
        .ok_or_else(|| Error::NoProject(id.clone()).into())
}

/// The project's key, after creating it if it is missing. The id of a new project is checked.
pub(super) async fn ensure(db: &Db<'_>, id: &ProjectId) -> Result<i64, Fault> {
    if let Some(key) = key(db, id).await? {
        return Ok(key);
    }
    id.validate_new().map_err(Error::from)?;
    let inserted = "INSERT INTO project (id) VALUES ($1) ON CONFLICT (id) DO NOTHING";
    db.execute(inserted, params![id.as_str()]).await?;
    existing(db, id).await
}

/// Locks the project's row until the end of the transaction, so that what is read of its reviews and
/// memories stays true until it is written. Returns its key.
pub(super) async fn lock(db: &Db<'_>, id: &ProjectId) -> Result<Option<i64>, Fault> {
    let lock = "SELECT key FROM project WHERE id = $1 FOR NO KEY UPDATE";
    let found = db.first(lock, params![id.as_str()]).await?;
    found.map(|row| row.get(0)).transpose()
}

/// [`lock`]s a project by its key.
pub(super) async fn lock_key(db: &Db<'_>, key: i64) -> Result<(), Fault> {
    db.execute(
        "SELECT FROM project WHERE key = $1 FOR NO KEY UPDATE",
        params![key],
    )
    .await?;
    Ok(())
}

/// Keeps others from [`lock`]ing a project; many transactions may.
pub(super) async fn share(db: &Db<'_>, key: i64) -> Result<(), Fault> {
    db.execute("SELECT FROM project WHERE key = $1 FOR SHARE", params![key])
        .await?;
    Ok(())
}

pub(super) async fn delete(db: &Db<'_>, id: &ProjectId) -> Result<bool, Fault> {
    let deleted = db
        .execute("DELETE FROM project WHERE id = $1", params![id.as_str()])
        .await?;
    Ok(deleted > 0)
}

pub(super) async fn stats(db: &Db<'_>, id: &ProjectId) -> Result<Stats, Fault> {
    let Some(project) = key(db, id).await? else {
        return Ok(Stats::default());
    };
    let found = db
        .one(
            "SELECT count(*), \
                 count(*) FILTER (WHERE NOT t.reviewed AND t.ingest_status = 'completed'), \
                 count(*) FILTER (WHERE t.reviewed AND r.verdict = 'pass'), \
                 count(*) FILTER (WHERE t.reviewed AND r.verdict = 'fail'), \
                 count(*) FILTER (WHERE t.ingest_status IN ('queued', 'processing')), \
                 count(*) FILTER (WHERE t.ingest_status = 'failed') \
             FROM trace t LEFT JOIN review r ON r.trace = t.key WHERE t.project = $1",
            params![project],
        )
        .await?;
    let learned = db
        .one(
            "SELECT count(*), count(*) FILTER (WHERE uses > 0), \
                 coalesce(sum(uses), 0)::bigint, count(*) FILTER (WHERE status = 'quarantined' \
                     OR (status = 'active' AND aside = 'quarantined')), \
                 count(*) FILTER (WHERE status = 'active' AND aside = 'archived'), \
                 count(*) FILTER (WHERE status = 'active' AND aside = 'merged') \
             FROM memory WHERE project = $1 AND status <> 'withdrawn'",
            params![project],
        )
        .await?;
    let sum = |column| row::count(&found, column);
    Ok(Stats {
        traces: sum(0)?,
        pending: sum(1)?,
        passed: sum(2)?,
        failed: sum(3)?,
        queued: sum(4)?,
        ingest_failed: sum(5)?,
        memories: row::count(&learned, 0)?,
        used_memories: row::count(&learned, 1)?,
        events: row::count(&learned, 2)?,
        quarantined: row::count(&learned, 3)?,
        archived: row::count(&learned, 4)?,
        merged: row::count(&learned, 5)?,
    })
}
