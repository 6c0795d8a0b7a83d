//! Projects and their counts.

use reflect_types::{ProjectId, ProjectSettings, ProjectSummary, Stats, UpdateProject};

use super::db::Db;
use super::fault::Fault;
use super::row::Row;
use super::value::{ToValue, Value, params};
use crate::error::Error;
use crate::store::RecallSettings;

pub(super) async fn list(db: &Db<'_>) -> Result<Vec<ProjectId>, Fault> {
    db.column("SELECT id FROM project ORDER BY id", &[]).await
}

/// The counts and settings of a project, or of all, by id.
pub(super) async fn summaries(
    db: &Db<'_>,
    only: Option<&ProjectId>,
) -> Result<Vec<ProjectSummary>, Fault> {
    let select = format!(
        "SELECT p.id, (SELECT count(*) FROM trace t WHERE t.project = p.key) AS traces, \
             (SELECT count(*) FROM memory m WHERE m.project = p.key AND m.status <> 'withdrawn') AS memories, \
             {SETTINGS} FROM project p WHERE $1::text IS NULL OR p.id = $1 ORDER BY p.id"
    );
    let rows = db.query(&select, &params![only]).await?;
    let summaries = rows.iter().map(|found| {
        Ok(ProjectSummary {
            project_id: found.get("id")?,
            traces: found.get("traces")?,
            memories: found.get("memories")?,
            settings: settings_of(found)?,
        })
    });
    summaries.collect()
}

pub(super) async fn settings(db: &Db<'_>, id: &ProjectId) -> Result<ProjectSettings, Fault> {
    let select = format!("SELECT {SETTINGS} FROM project p WHERE p.id = $1");
    let found = db.first(&select, &params![id]).await?;
    let found = found.map(|found| settings_of(&found)).transpose()?;
    Ok(found.unwrap_or_default())
}

/// The columns of [`settings_of`].
const SETTINGS: &str =
    "p.max_alpha, p.max_memories, p.ranking, p.approve, p.control, p.keep_personal_values";

fn settings_of(found: &Row) -> Result<ProjectSettings, Fault> {
    Ok(ProjectSettings {
        max_alpha: found.get("max_alpha")?,
        max_memories: found.get("max_memories")?,
        ranking: found.get("ranking")?,
        approve: found.get("approve")?,
        control: found.get("control")?,
        keep_personal_values: found.get("keep_personal_values")?,
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
    let set = async |column: &str, value: Option<Value<'_>>| {
        if let Some(value) = value {
            let set = format!("UPDATE project SET {column} = $2 WHERE key = $1");
            db.execute(&set, &[Value::Int(key), value]).await?;
        }
        Ok::<_, Fault>(())
    };
    let keep = &update.keep_personal_values;
    set("max_alpha", update.max_alpha.as_ref().map(to_value)).await?;
    set("max_memories", update.max_memories.as_ref().map(to_value)).await?;
    set("ranking", update.ranking.as_ref().map(to_value)).await?;
    set("approve", update.approve.as_ref().map(to_value)).await?;
    set("control", update.control.as_ref().map(to_value)).await?;
    set("keep_personal_values", keep.as_ref().map(to_value)).await
}

fn to_value<'v, T: ToValue<'v>>(value: T) -> Value<'v> {
    value.to_value()
}

/// Where a list goes on: at the row of a table that a cursor names, or at its start.
pub(super) async fn cursor(
    db: &Db<'_>,
    project: Option<i64>,
    (table, column, what): (&str, &str, &str),
    (field, id): (&'static str, Option<&str>),
    start: i64,
) -> Result<i64, Fault> {
    let Some(id) = id else { return Ok(start) };
    // Without a project this finds nothing: NULL equals nothing.
    let select = format!("SELECT key FROM {table} WHERE project = $1 AND {column} = $2");
    let key = db.value(&select, &params![project, id]).await?;
    key.ok_or_else(|| Error::unknown_cursor(field, what, id).into())
}

/// A cursor of traces.
pub(super) const TRACES: (&str, &str, &str) = ("trace", "id", "trace");

/// A cursor of memories.
pub(super) const MEMORIES: (&str, &str, &str) = ("memory", "id", "memory");

/// The project's key, its current revision, and what else its answers depend on.
pub(super) async fn recalled(
    db: &Db<'_>,
    id: &ProjectId,
) -> Result<Option<(i64, i64, RecallSettings)>, Fault> {
    let select = "SELECT key, revision, max_memories, ranking, approve FROM project WHERE id = $1";
    let Some(found) = db.first(select, &params![id]).await? else {
        return Ok(None);
    };
    let settings = RecallSettings {
        max_memories: found.get("max_memories")?,
        ranking: found.get("ranking")?,
        approve: found.get("approve")?,
        ..RecallSettings::default()
    };
    Ok(Some((found.get("key")?, found.get("revision")?, settings)))
}

/// The project's key.
pub(super) async fn key(db: &Db<'_>, id: &ProjectId) -> Result<Option<i64>, Fault> {
    db.value("SELECT key FROM project WHERE id = $1", &params![id])
        .await
}

/// The key of a project to store traces in, after creating it if it is missing and `creates`. Until the end of the
/// transaction, [`key_alone`] waits. No lock of the row, which would keep reviews waiting as long as traces are stored.
pub(super) async fn key_to_fill(db: &Db<'_>, id: &ProjectId, creates: bool) -> Result<i64, Fault> {
    let key = "SELECT key{SHARE_TRACES} FROM project WHERE id = $1";
    if let Some(key) = db.value(key, &params![id]).await? {
        return Ok(key);
    }
    if creates {
        ensure(db, id).await?;
    }
    let created = db.value(key, &params![id]).await?;
    created.ok_or_else(|| Error::NoProject(id.clone()).into())
}

/// The project's key, once all that store traces in it have ended. Others wait until the end of the transaction.
pub(super) async fn key_alone(db: &Db<'_>, id: &ProjectId) -> Result<Option<i64>, Fault> {
    let key = "SELECT key{LOCK_TRACES} FROM project WHERE id = $1";
    db.value(key, &params![id]).await
}

/// The key of a project that has to exist.
pub(super) async fn existing(db: &Db<'_>, id: &ProjectId) -> Result<i64, Fault> {
    let key = key(db, id).await?;
    key.ok_or_else(|| Error::NoProject(id.clone()).into())
}

/// The project's key, after creating it if it is missing. The id of a new project is checked.
pub(super) async fn ensure(db: &Db<'_>, id: &ProjectId) -> Result<i64, Fault> {
    if let Some(key) = key(db, id).await? {
        return Ok(key);
    }
    id.validate_new().map_err(Error::from)?;
    let insert = "INSERT INTO project (id) VALUES ($1) ON CONFLICT (id) DO NOTHING";
    db.execute(insert, &params![id]).await?;
    existing(db, id).await
}

/// Locks the project's row until the end of the transaction, so that what is read of its reviews and memories stays
/// true until it is written. Returns its key.
pub(super) async fn lock(db: &Db<'_>, id: &ProjectId) -> Result<Option<i64>, Fault> {
    let lock = "SELECT key FROM project WHERE id = $1 FOR NO KEY UPDATE";
    db.value(lock, &params![id]).await
}

/// [`lock`]s projects by their keys, in the order of these, so that two that do it do not wait for each other.
pub(super) async fn lock_keys(db: &Db<'_>, keys: &[i64]) -> Result<(), Fault> {
    let lock = "SELECT key FROM project WHERE key = ANY($1) ORDER BY key FOR NO KEY UPDATE";
    db.query(lock, &params![keys]).await.map(drop)
}

/// The first of as many new revisions of the project's memories.
pub(super) async fn next_revisions(
    db: &Db<'_>,
    project: i64,
    count: usize,
) -> Result<std::ops::RangeFrom<i64>, Fault> {
    let take = "UPDATE project SET revision = revision + $2 WHERE key = $1 \
         RETURNING revision - $2 + 1 AS first";
    let first: i64 = db.one(take, &params![project, count]).await?.first()?;
    Ok(first..)
}

/// The next revision of the project's memories.
pub(super) async fn next_revision(db: &Db<'_>, project: i64) -> Result<i64, Fault> {
    Ok(next_revisions(db, project, 1).await?.start)
}

pub(super) async fn delete(db: &Db<'_>, id: &ProjectId) -> Result<bool, Fault> {
    let delete = "DELETE FROM project WHERE id = $1";
    Ok(db.execute(delete, &params![id]).await? > 0)
}

/// Sets what holds for the whole database.
pub(super) async fn put_setting(db: &Db<'_>, name: &str, value: &str) -> Result<(), Fault> {
    let put = "INSERT INTO setting (name, value) VALUES ($1, $2) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    db.execute(put, &params![name, value]).await.map(drop)
}

/// The numbers of a project. Those of traces are from indexes, because traces are long: the few that are not ingested
/// have a job or have failed.
pub(super) async fn stats(db: &Db<'_>, id: &ProjectId) -> Result<Stats, Fault> {
    let Some(project) = key(db, id).await? else {
        return Ok(Stats::default());
    };
    let traces = db
        .one(
            "WITH unfinished AS ( \
                 SELECT t.key, t.reviewed, t.ingest_status FROM queue q \
                     JOIN trace t ON t.project = q.project AND t.key = q.trace \
                     WHERE q.project = $1 AND q.kind = 'reflection' AND t.ingest_status <> 'completed' \
                 UNION SELECT t.key, t.reviewed, t.ingest_status FROM trace t \
                     WHERE t.project = $1 AND t.ingest_status = 'failed'), \
             verdicts AS ( \
                 SELECT r.verdict, count(*) AS number FROM review r \
                     WHERE r.project = $1 AND r.state = 'current' GROUP BY r.verdict \
                 UNION ALL SELECT r.verdict, -1 FROM unfinished u \
                     JOIN review r ON r.project = $1 AND r.trace = u.key AND r.state = 'current' \
                     WHERE NOT u.reviewed) \
             SELECT (SELECT count(*) FROM trace t WHERE t.project = $1) AS traces, \
                 (SELECT count(*) FROM trace t WHERE t.project = $1 AND NOT t.reviewed) \
                     - (SELECT count(*) FROM unfinished u WHERE NOT u.reviewed) AS pending, \
                 (SELECT coalesce(sum(number), 0)::bigint FROM verdicts WHERE verdict = 'pass') AS passed, \
                 (SELECT coalesce(sum(number), 0)::bigint FROM verdicts WHERE verdict = 'fail') AS failed, \
                 (SELECT count(*) FROM unfinished u WHERE u.ingest_status <> 'failed') AS queued, \
                 (SELECT count(*) FROM unfinished u WHERE u.ingest_status = 'failed') AS ingest_failed",
            &params![project],
        )
        .await?;
    let memories = db
        .one(
            "SELECT count(*) AS memories, count(*) FILTER (WHERE uses > 0) AS used_memories, \
                 coalesce(sum(uses), 0)::bigint AS events, \
                 count(*) FILTER (WHERE status = 'quarantined' \
                     OR (status = 'active' AND hidden = 'quarantined')) AS quarantined, \
                 count(*) FILTER (WHERE status = 'active' AND hidden = 'archived') AS archived, \
                 count(*) FILTER (WHERE status = 'active' AND hidden = 'merged') AS merged, \
                 count(*) FILTER (WHERE status = 'active' AND hidden = 'staged') AS staged \
             FROM memory WHERE project = $1 AND status <> 'withdrawn'",
            &params![project],
        )
        .await?;
    Ok(Stats {
        traces: traces.get("traces")?,
        pending: traces.get("pending")?,
        passed: traces.get("passed")?,
        failed: traces.get("failed")?,
        queued: traces.get("queued")?,
        ingest_failed: traces.get("ingest_failed")?,
        memories: memories.get("memories")?,
        used_memories: memories.get("used_memories")?,
        events: memories.get("events")?,
        quarantined: memories.get("quarantined")?,
        archived: memories.get("archived")?,
        merged: memories.get("merged")?,
        staged: memories.get("staged")?,
    })
}
