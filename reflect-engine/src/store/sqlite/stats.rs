//! The numbers of a project.

use reflect_types::{ProjectId, Stats};
use rusqlite::Connection;

use super::fault::Fault;
use super::{projects, row};

pub(super) fn stats(db: &Connection, id: &ProjectId) -> Result<Stats, Fault> {
    let mut stats = Stats::default();
    if let Some(project) = projects::key(db, id)? {
        count_traces(db, project, &mut stats)?;
        count_memories(db, project, &mut stats)?;
    }
    Ok(stats)
}

/// From indexes, because traces are long. Those that are not ingested, mostly few of the file, have a job or have
/// failed. A cross join is done in the order that is written.
fn count_traces(db: &Connection, project: i64, stats: &mut Stats) -> Result<(), Fault> {
    let mut counts = db.prepare_cached(
        "WITH unfinished AS MATERIALIZED ( \
             SELECT t.key, t.reviewed, t.ingest_status FROM queue q CROSS JOIN trace t \
             WHERE q.kind = 'reflection' AND t.key = q.trace AND t.project = ?1 \
                 AND t.ingest_status <> 'completed' \
             UNION \
             SELECT t.key, t.reviewed, t.ingest_status FROM trace t \
             WHERE t.project = ?1 AND t.ingest_status = 'failed') \
         SELECT count(*), \
             count(*) FILTER (WHERE t.reviewed = 0) \
                 - (SELECT count(*) FROM unfinished u WHERE u.reviewed = 0), \
             count(*) FILTER (WHERE t.reviewed AND r.verdict = 'pass'), \
             count(*) FILTER (WHERE t.reviewed AND r.verdict = 'fail'), \
             (SELECT count(*) FROM unfinished u WHERE u.ingest_status <> 'failed'), \
             (SELECT count(*) FROM unfinished u WHERE u.ingest_status = 'failed') \
         FROM trace t LEFT JOIN review r ON r.trace = t.key WHERE t.project = ?1",
    )?;
    let mut rows = counts.query([project])?;
    if let Some(found) = rows.next()? {
        stats.traces = row::count(found, 0)?;
        stats.pending = row::count(found, 1)?;
        stats.passed = row::count(found, 2)?;
        stats.failed = row::count(found, 3)?;
        stats.queued = row::count(found, 4)?;
        stats.ingest_failed = row::count(found, 5)?;
    }
    Ok(())
}

fn count_memories(db: &Connection, project: i64, stats: &mut Stats) -> Result<(), Fault> {
    let mut counts = db.prepare_cached(
        "SELECT count(*), count(*) FILTER (WHERE uses > 0), coalesce(sum(uses), 0), \
             count(*) FILTER (WHERE status = 'quarantined' \
                 OR (status = 'active' AND aside = 'quarantined')), \
             count(*) FILTER (WHERE status = 'active' AND aside = 'archived'), \
             count(*) FILTER (WHERE status = 'active' AND aside = 'merged'), \
             count(*) FILTER (WHERE status = 'active' AND aside = 'staged') \
         FROM memory WHERE project = ?1 AND status <> 'withdrawn'",
    )?;
    let mut rows = counts.query([project])?;
    if let Some(found) = rows.next()? {
        stats.memories = row::count(found, 0)?;
        stats.used_memories = row::count(found, 1)?;
        stats.events = row::count(found, 2)?;
        stats.quarantined = row::count(found, 3)?;
        stats.archived = row::count(found, 4)?;
        stats.merged = row::count(found, 5)?;
        stats.staged = row::count(found, 6)?;
    }
    Ok(())
}
