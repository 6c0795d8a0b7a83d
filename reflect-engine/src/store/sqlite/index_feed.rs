//! What an index follows: changed memories.

use reflect_types::{MemoryId, ProjectId};
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::{blob, embedders, projects, row};
use crate::store::{IndexedMemory, MemoryChange, MemoryChanges, MemoryKey, Revision, VectorSpace};

pub(super) fn since_revision(
    db: &Connection,
    project: &ProjectId,
    space: &VectorSpace,
    since: Revision,
    limit: usize,
) -> Result<MemoryChanges, Fault> {
    let Some((project, number)) = projects::revision(db, project)? else {
        return Ok(MemoryChanges {
            reset: since.epoch != 0,
            ..MemoryChanges::default()
        });
    };
    let mut answer = MemoryChanges {
        reset: since.epoch != project,
        revision: Revision {
            epoch: project,
            number,
        },
        settings: projects::recall_settings(db, project)?,
        ..MemoryChanges::default()
    };
    let since = if answer.reset { 0 } else { since.number };
    if since >= number {
        return Ok(answer);
    }
    let embedder = embedders::key(db, space)?;
    let mut changes = put_since(db, project, embedder, since, limit)?;
    changes.extend(gone_since(db, project, since, limit)?);
    changes.sort_unstable_by_key(|(revision, _)| *revision);
    // Either list may end at the limit, so nothing beyond it is known.
    if changes.len() >= limit {
        changes.truncate(limit);
        if let Some((last, _)) = changes.last() {
            answer.more = *last < number;
            answer.revision.number = *last;
        }
    }
    answer.changes = changes.into_iter().map(|(_, change)| change).collect();
    Ok(answer)
}

fn put_since(
    db: &Connection,
    project: i64,
    embedder: Option<i64>,
    since: i64,
    limit: usize,
) -> Result<Vec<(i64, MemoryChange)>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT m.revision, m.key, m.q, m.metadata, \
             iif(m.status <> 'withdrawn', e.vector, NULL), m.id, m.success, \
             m.given, m.alpha, m.status = 'active' AND m.aside IS NULL, m.aside, m.uses, \
             (SELECT max(c.created_at) FROM memory_change c WHERE c.project = m.project \
                 AND c.memory_id = m.id AND c.closed = 0 AND c.kind = 'restored' \
                 AND c.automatic = 0), m.status = 'quarantined', m.aside_into, m.task_sketch, \
             m.text_sketch, m.needs_approval AND p.approve IS NOT NULL \
                 AND (p.approve <> 'models' OR m.reviewer_model IS NOT NULL), \
             (SELECT x.key FROM memory x WHERE x.project = m.project AND x.id = \
                 (SELECT c.merged_into FROM memory_change c WHERE c.project = m.project \
                     AND c.memory_id = m.id AND c.closed = 0 AND c.automatic = 0 \
                     AND c.kind <> 'edited' ORDER BY c.key DESC LIMIT 1)) \
         FROM memory m JOIN project p ON p.key = m.project \
             LEFT JOIN embedding e ON e.memory = m.key AND e.embedder = ?2 \
         WHERE m.project = ?1 AND m.revision > ?3 ORDER BY m.revision LIMIT ?4",
    )?;
    let mut rows = select.query(params![project, embedder, since, row::limit(limit)])?;
    let mut changes = Vec::new();
    while let Some(found) = rows.next()? {
        let (revision, key) = (found.get(0)?, found.get(1)?);
        let change = if found.get_ref(4)? == rusqlite::types::ValueRef::Null {
            MemoryChange::Gone(key)
        } else {
            MemoryChange::Put(Box::new(IndexedMemory {
                key,
                id: MemoryId::new(found.get::<_, String>(5)?),
                vector: blob::decode(found, 4)?,
                q: found.get(2)?,
                metadata: row::json(found, 3)?,
                passed: found.get(6)?,
                given: row::json(found, 7)?,
                alpha: found.get(8)?,
                shown: found.get(9)?,
                aside: row::optional_name(found, 10)?,
                uses: row::count(found, 11)?,
                excused: match found.get::<_, Option<String>>(12)? {
                    Some(restored_at) => Some(uses_until(db, key, &restored_at)?),
                    None => None,
                },
                quarantined: found.get(13)?,
                merged_into: found.get(14)?,
                task: row::sketch(found, 15)?,
                text: row::sketch(found, 16)?,
                needs_approval: found.get(17)?,
                merge_into: found.get(18)?,
            }))
        };
        changes.push((revision, change));
    }
    Ok(changes)
}

/// The number of reviewed runs that were given a memory until then.
fn uses_until(db: &Connection, key: MemoryKey, time: &str) -> Result<u64, Fault> {
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM utility_event WHERE memory = ?1 AND aside = 0 AND created_at <= ?2",
    )?;
    let mut rows = count.query(params![key, time])?;
    match rows.next()? {
        Some(found) => row::count(found, 0),
        None => Ok(0),
    }
}

fn gone_since(
    db: &Connection,
    project: i64,
    since: i64,
    limit: usize,
) -> Result<Vec<(i64, MemoryChange)>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT revision, memory FROM deleted_memory WHERE project = ?1 AND revision > ?2 \
         ORDER BY revision LIMIT ?3",
    )?;
    let gone = select.query_map(params![project, since, row::limit(limit)], |row| {
        Ok((row.get(0)?, MemoryChange::Gone(row.get(1)?)))
    })?;
    Ok(gone.collect::<rusqlite::Result<_>>()?)
}
