//! What an index follows: changed memories, and memories without a current vector.

use reflect_types::{MemoryId, ProjectId};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::Fault;
use super::memories::{embed, next_revision};
use super::{blob, projects, row};
use crate::sketch::{NotASketch, Sketch};
use crate::store::{
    IndexedMemory, MemoryChange, MemoryChanges, MemoryKey, Revision, UnembeddedMemory,
};

pub(super) fn since_revision(
    db: &Connection,
    project: &ProjectId,
    embedder: &str,
    since: Revision,
    limit: usize,
) -> Result<MemoryChanges, Fault> {
    let claimed = self::embedder(db)?;
    let Some((project, number)) = projects::revision(db, project)? else {
        return Ok(MemoryChanges {
            reset: since.epoch != 0,
            embedder: claimed,
            ..MemoryChanges::default()
        });
    };
    let mut answer = MemoryChanges {
        reset: since.epoch != project,
        revision: Revision {
            epoch: project,
            number,
        },
        embedder: claimed,
        settings: projects::recall_settings(db, project)?,
        ..MemoryChanges::default()
    };
    let since = if answer.reset { 0 } else { since.number };
    if since >= number {
        return Ok(answer);
    }
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

pub(super) fn claim_embedder(db: &Connection, embedder: &str) -> Result<(), Fault> {
    db.prepare_cached("INSERT OR REPLACE INTO setting (name, value) VALUES ('embedder', ?1)")?
        .execute([embedder])?;
    Ok(())
}

pub(super) fn embedder(db: &Connection) -> Result<Option<String>, Fault> {
    Ok(db
        .prepare_cached("SELECT value FROM setting WHERE name = 'embedder'")?
        .query_row([], |row| row.get(0))
        .optional()?)
}

pub(super) fn unembedded(
    db: &Connection,
    embedder: &str,
    dims: usize,
    limit: usize,
) -> Result<Vec<UnembeddedMemory>, Fault> {
    // Ranges of the index: `<>` would read every row.
    let mut select = db.prepare_cached(
        "SELECT m.key, m.task FROM memory m JOIN ( \
             SELECT memory FROM embedding WHERE embedder < ?1 UNION ALL \
             SELECT memory FROM embedding WHERE embedder > ?1 UNION ALL \
             SELECT memory FROM embedding WHERE embedder = ?1 AND length(vector) < ?3 UNION ALL \
             SELECT memory FROM embedding WHERE embedder = ?1 AND length(vector) > ?4 LIMIT ?2 \
         ) stale ON stale.memory = m.key",
    )?;
    let bytes = row::limit(dims.saturating_mul(size_of::<f32>()));
    let (shortest, longest) = match dims {
        0 => (0, i64::MAX),
        _ => (bytes, bytes),
    };
    let found = select.query_map(
        params![embedder, row::limit(limit), shortest, longest],
        |row| {
            let (key, task) = (row.get(0)?, row.get(1)?);
            Ok(UnembeddedMemory { key, task })
        },
    )?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

pub(super) fn set_vectors(
    db: &Connection,
    embedder: &str,
    vectors: &[(MemoryKey, Vec<f32>)],
) -> Result<(), Fault> {
    for (key, vector) in vectors {
        let project = db
            .prepare_cached("SELECT project FROM memory WHERE key = ?1")?
            .query_row([key], |row| row.get(0))
            .optional()?;
        let Some(project) = project else { continue };
        embed(db, *key, embedder, vector)?;
        db.prepare_cached("UPDATE memory SET revision = ?2 WHERE key = ?1")?
            .execute(params![key, next_revision(db, project)?])?;
    }
    Ok(())
}

fn put_since(
    db: &Connection,
    project: i64,
    embedder: &str,
    since: i64,
    limit: usize,
) -> Result<Vec<(i64, MemoryChange)>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT m.revision, m.key, m.q, m.metadata, \
             iif(e.embedder = ?2 AND m.status <> 'withdrawn', e.vector, NULL), m.id, m.success, \
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
         FROM memory m JOIN embedding e ON e.memory = m.key JOIN project p ON p.key = m.project \
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
                aside: row::named(found, 10)?,
                uses: row::count(found, 11)?,
                excused: match found.get::<_, Option<String>>(12)? {
                    Some(restored_at) => Some(uses_until(db, key, &restored_at)?),
                    None => None,
                },
                quarantined: found.get(13)?,
                merged_into: found.get(14)?,
                task: sketch(found, 15)?,
                text: sketch(found, 16)?,
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

/// The sketch of a text; `None` where nothing is said.
fn sketch<const SLOTS: usize>(
    row: &Row<'_>,
    column: usize,
) -> Result<Option<Sketch<SLOTS>>, Fault> {
    let text: Option<String> = row.get(column)?;
    let sketch = text.as_deref().map(str::parse).transpose();
    sketch.map_err(|error: NotASketch| Fault::Data(error.to_string()))
}
