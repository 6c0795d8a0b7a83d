//! The records of undos.

use reflect_types::{KeyId, ListUndos, Page, ProjectId, UndoRecord};

use super::fault::Fault;
use super::sql::Db;
use super::value::params;
use super::{projects, row};
use crate::error::Error;

/// Inserts a record, unless the project has one of its id. Returns whether it did.
pub(super) async fn insert(db: &Db<'_>, project: i64, record: &UndoRecord) -> Result<bool, Fault> {
    let stored = db
        .execute(
            "INSERT INTO undo_record (project, id, key_id, created_at, request, totals, \
             events, hidden) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (project, \
             id) DO NOTHING",
            params![
                project,
                record.id,
                record.key_id.as_ref().map(KeyId::as_str),
                record.created_at,
                row::to_json(&record.request)?,
                row::to_json(&record.totals)?,
                row::stored_count(record.events),
                row::stored_count(record.hidden),
            ],
        )
        .await?;
    Ok(stored > 0)
}

pub(super) async fn list(
    db: &Db<'_>,
    project: &ProjectId,
    list: &ListUndos,
) -> Result<Page<UndoRecord>, Fault> {
    let project = projects::key(db, project).await?;
    let before: i64 = match &list.before {
        // Without a project this finds nothing: NULL equals nothing.
        Some(id) => db
            .value(
                "SELECT key FROM undo_record WHERE project = $2 AND id = $1",
                params![id, project],
            )
            .await?
            .ok_or_else(|| Error::unknown_cursor("before", "undo", id))?,
        None => i64::MAX,
    };
    let limit = list.limit.unwrap_or(ListUndos::DEFAULT_LIMIT) as usize;
    // One more than the limit shows whether another page follows.
    let rows = db
        .query(
            "SELECT id, key_id, created_at, request, totals, events, hidden FROM undo_record \
             WHERE project = $1 AND key < $2 ORDER BY key DESC LIMIT $3",
            params![project, before, row::limit(limit + 1)],
        )
        .await?;
    let mut page = Page::default();
    for found in &rows {
        if page.items.len() == limit {
            page.more = true;
            break;
        }
        page.items.push(UndoRecord {
            id: found.get(0)?,
            key_id: found.get::<Option<String>>(1)?.map(KeyId::new),
            created_at: found.get(2)?,
            request: row::json(found, 3)?,
            totals: row::json(found, 4)?,
            events: row::count(found, 5)?,
            hidden: row::count(found, 6)?,
        });
    }
    Ok(page)
}
