//! The records of undos.

use reflect_types::{KeyId, ListUndos, Page, ProjectId, UndoRecord};
use rusqlite::{Connection, OptionalExtension, params};

use super::fault::Fault;
use super::{projects, row};
use crate::error::Error;

/// Inserts a record, unless the project has one of its id. Returns whether it did.
pub(super) fn insert(db: &Connection, project: i64, record: &UndoRecord) -> Result<bool, Fault> {
    let stored = db
        .prepare_cached(
            "INSERT OR IGNORE INTO undo_record (project, id, key_id, created_at, request, totals, \
                 events, hidden) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            project,
            record.id,
            record.key_id.as_ref().map(KeyId::as_str),
            record.created_at,
            row::to_json(&record.request)?,
            row::to_json(&record.totals)?,
            row::stored_count(record.events),
            row::stored_count(record.hidden),
        ])?;
    Ok(stored > 0)
}

pub(super) fn list(
    db: &Connection,
    project: &ProjectId,
    list: &ListUndos,
) -> Result<Page<UndoRecord>, Fault> {
    let project = projects::key(db, project)?;
    let before: i64 = match &list.before {
        // Without a project this finds nothing: NULL equals nothing.
        Some(id) => db
            .prepare_cached("SELECT key FROM undo_record WHERE project = ?2 AND id = ?1")?
            .query_row(params![id, project], |row| row.get(0))
            .optional()?
            .ok_or_else(|| Error::unknown_cursor("before", "undo", id))?,
        None => i64::MAX,
    };
    let limit = list.limit.unwrap_or(ListUndos::DEFAULT_LIMIT) as usize;
    let mut select = db.prepare_cached(
        "SELECT id, key_id, created_at, request, totals, events, hidden FROM undo_record \
         WHERE project = ?1 AND key < ?2 ORDER BY key DESC LIMIT ?3",
    )?;
    // One more than the limit shows whether another page follows.
    let mut rows = select.query(params![project, before, row::limit(limit + 1)])?;
    let mut page = Page::default();
    while let Some(found) = rows.next()? {
        if page.items.len() == limit {
            page.more = true;
            break;
        }
        page.items.push(UndoRecord {
            id: found.get(0)?,
            key_id: found.get::<_, Option<String>>(1)?.map(KeyId::new),
            created_at: found.get(2)?,
            request: row::json(found, 3)?,
            totals: row::json(found, 4)?,
            events: row::count(found, 5)?,
            hidden: row::count(found, 6)?,
        });
    }
    Ok(page)
}
