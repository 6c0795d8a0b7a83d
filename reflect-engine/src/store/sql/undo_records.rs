//! The records of undos.

use reflect_types::{ListUndos, Page, ProjectId, UndoRecord};

use super::db::Db;
use super::fault::Fault;
use super::projects;
use super::row::to_json;
use super::value::params;

/// Inserts a record, unless the project has one of its id. Returns whether it did.
pub(super) async fn insert(db: &Db<'_>, project: i64, record: &UndoRecord) -> Result<bool, Fault> {
    let stored = db
        .execute(
            "INSERT INTO undo_record (project, id, key_id, created_at, request, totals, events, hidden) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (project, id) DO NOTHING",
            &params![
                project,
                record.id,
                record.key_id,
                record.created_at,
                to_json(&record.request)?,
                to_json(&record.totals)?,
                record.events,
                record.hidden,
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
    let records = ("undo_record", "id", "undo");
    let before = ("before", list.before.as_deref());
    let before = projects::cursor(db, project, records, before, i64::MAX).await?;
    let limit = list.limit.unwrap_or(ListUndos::DEFAULT_LIMIT) as usize;
    // One more than the limit shows whether another page follows.
    let select = "SELECT id, key_id, created_at, request, totals, events, hidden FROM undo_record \
         WHERE project = $1 AND key < $2 ORDER BY key DESC LIMIT $3";
    let rows = db
        .query(select, &params![project, before, limit + 1])
        .await?;
    let mut page = Page::default();
    for found in &rows {
        if page.items.len() == limit {
            page.more = true;
            break;
        }
        page.items.push(UndoRecord {
            id: found.get("id")?,
            key_id: found.get("key_id")?,
            created_at: found.get("created_at")?,
            request: found.json("request")?,
            totals: found.json("totals")?,
            events: found.get("events")?,
            hidden: found.get("hidden")?,
        });
    }
    Ok(page)
}
