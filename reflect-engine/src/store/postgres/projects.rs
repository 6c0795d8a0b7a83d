//! Projects and their counts.

use reflect_types::{
    Approval, ProjectId, ProjectSettings, ProjectSummary, Ranking, Stats, UpdateProject,
};

use super::fault::Fault;
use super::row;
use super::sql::{Db, Row};
use super::value::params;
use crate::error::Error;
use crate::store::RecallSettings;

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
            &format!(
                "SELECT p.id, (SELECT count(*) FROM trace t WHERE t.project = p.key), (SELECT \
             count(*) FROM memory m WHERE m.project = p.key AND m.status <> 'withdrawn'), \
             {SETTINGS} FROM project p WHERE $1::text IS NULL OR p.id = $1 ORDER BY p.id"
            ),
            params![only.map(ProjectId::as_str)],
        )
        .await?;
    let mut summaries = Vec::new();
    for found in &rows {
        summaries.push(ProjectSummary {
            project_id: ProjectId::new(found.get::<String>(0)?),
            traces: row::count(found, 1)?,
            memories: row::count(found, 2)?,
            settings: settings_of(found, 3)?,
        });
    }
    Ok(summaries)
}

pub(super) async fn settings(db: &Db<'_>, id: &ProjectId) -> Result<ProjectSettings, Fault> {
    let found = db
        .first(
            &format!("SELECT {SETTINGS} FROM project p WHERE p.id = $1"),
            params![id.as_str()],
        )
        .await?;
    let found = found.map(|found| settings_of(&found, 0)).transpose()?;
    Ok(found.unwrap_or_default())
}

/// The columns of the settings, for [`settings_of`].
const SETTINGS: &str =
    "p.max_alpha, p.max_memories, p.ranking, p.approve, p.control, p.keep_personal_values";

/// The settings in the columns from `first` on.
fn settings_of(found: &Row, first: usize) -> Result<ProjectSettings, Fault> {
    Ok(ProjectSettings {
        max_alpha: found.get(first)?,
        max_memories: row::optional_count(found, first + 1)?,
        ranking: row::optional_name(found, first + 2)?,
        approve: row::optional_name(found, first + 3)?,
        control: found.get(first + 4)?,
        keep_personal_values: found.get(first + 5)?,
    })
}

pub(super) async fn update(
    db: &Db<'_>,
    id: &ProjectId,
    update: &UpdateProject,
    creates: bool,
) -> Result<(), Fault> {
    if creates {
        ensure(db, id).await?;
    }
    let Some(key) = lock(db, id).await? else {
        return Err(Error::NoProject(id.clone()).into());
    };
    if let Some(limit) = update.max_alpha {
        let set = "UPDATE project SET max_alpha = $2 WHERE key = $1";
        db.execute(set, params![key, limit]).await?;
    }
    if let Some(limit) = update.max_memories {
        let set = "UPDATE project SET max_memories = $2 WHERE key = $1";
        db.execute(set, params![key, limit.map(row::stored_count)])
            .await?;
    }
    if let Some(ranking) = &update.ranking {
        let set = "UPDATE project SET ranking = $2 WHERE key = $1";
        db.execute(set, params![key, ranking.as_ref().map(Ranking::as_str)])
            .await?;
    }
    if let Some(approve) = &update.approve {
        let set = "UPDATE project SET approve = $2 WHERE key = $1";
        db.execute(set, params![key, approve.as_ref().map(Approval::as_str)])
            .await?;
    }
    if let Some(share) = update.control {
        let set = "UPDATE project SET control = $2 WHERE key = $1";
        db.execute(set, params![key, share]).await?;
    }
    if let Some(keep) = update.keep_personal_values {
        let set = "UPDATE project SET keep_personal_values = $2 WHERE key = $1";
        db.execute(set, params![key, keep]).await?;
    }
    Ok(())
}

/// The project's key, its current revision, and what else its answers depend on.
pub(super) async fn recalled(
    db: &Db<'_>,
    id: &ProjectId,
) -> Result<Option<(i64, i64, RecallSettings)>, Fault> {
    let found = db
        .first(
            "SELECT key, revision, max_memories, ranking, approve FROM project WHERE id = $1",
            params![id.as_str()],
        )
        .await?;
    let Some(found) = found else {
        return Ok(None);
    };
    let settings = RecallSettings {
        max_memories: row::optional_count(&found, 2)?,
        ranking: row::optional_name(&found, 3)?,
        approve: row::optional_name(&found, 4)?,
        ..RecallSettings::default()
    };
    Ok(Some((found.get(0)?, found.get(1)?, settings)))
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
/// end of the transaction, [`key_alone`] waits. No lock of the row, which would keep reviews waiting as long as traces
/// are stored.
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

/// The project's key, once all that store traces in it have ended. Others wait until the end of the transaction.
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
                 count(*) FILTER (WHERE status = 'active' AND aside = 'merged'), \
                 count(*) FILTER (WHERE status = 'active' AND aside = 'staged') \
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
        staged: row::count(&learned, 6)?,
    })
}
