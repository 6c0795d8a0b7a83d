//! Memories with their histories, or the best of them.

use reflect_types::{ListMemories, MemoryHistory, MemoryId, MemoryRecord, Page, ProjectId};

use super::db::Db;
use super::fault::Fault;
use super::memory_rows::{MEMORY, read};
use super::value::params;
use super::{histories, projects};
use crate::store::{MemoryKey, page};

pub(super) async fn get(
    db: &Db<'_>,
    project: &ProjectId,
    id: &MemoryId,
) -> Result<Option<MemoryHistory>, Fault> {
    let Some(project) = projects::key(db, project).await? else {
        return Ok(None);
    };
    let select = format!(
        "SELECT {MEMORY} FROM memory m \
         WHERE m.project = $1 AND m.id = $2 AND m.status <> 'withdrawn'"
    );
    let rows = db.query(&select, &params![project, id]).await?;
    Ok(histories::of(db, project, &rows).await?.into_iter().next())
}

pub(super) async fn list(
    db: &Db<'_>,
    project: &ProjectId,
    list: &ListMemories,
) -> Result<Page<MemoryHistory>, Fault> {
    let project = projects::key(db, project).await?;
    let before = ("before", list.before.as_ref().map(MemoryId::as_str));
    let before = projects::cursor(db, project, projects::MEMORIES, before, i64::MAX).await?;
    let Some(project) = project else {
        return Ok(Page::default());
    };
    let limit = list.limit.unwrap_or(ListMemories::DEFAULT_LIMIT) as usize;
    // One more than the limit shows whether another page follows.
    let select = format!(
        "SELECT {MEMORY} FROM memory m WHERE m.project = $1 AND m.key < $2 AND m.status <> 'withdrawn' \
             AND ($4::text IS NULL OR $4 = \
                 CASE m.status WHEN 'active' THEN coalesce(m.hidden, 'active') ELSE m.status END) \
         ORDER BY m.key DESC LIMIT $3"
    );
    let values = params![project, before, limit + 1, list.status];
    let rows = db.query(&select, &values).await?;
    let (mut page, mut bytes) = (Page::default(), 0);
    for portion in rows.chunks(histories::PORTION) {
        let read = histories::of(db, project, portion).await?;
        for (found, history) in portion.iter().zip(read) {
            if page.items.len() == limit || bytes > page::PAGE_BYTES {
                page.more = true;
                return Ok(page);
            }
            bytes += found.bytes() + page::history_bytes(&history, 0);
            page.items.push(history);
        }
    }
    Ok(page)
}

pub(super) async fn best(
    db: &Db<'_>,
    project: &ProjectId,
    success: bool,
    limit: usize,
) -> Result<Vec<MemoryRecord>, Fault> {
    let select = format!(
        "SELECT {MEMORY} FROM project p JOIN memory m ON m.project = p.key \
         WHERE p.id = $1 AND m.success = $2 AND m.status = 'active' AND m.hidden IS NULL \
         ORDER BY m.q DESC, m.uses DESC, m.key DESC LIMIT $3"
    );
    let rows = db.query(&select, &params![project, success, limit]).await?;
    rows.iter().map(read).collect()
}

pub(super) async fn by_key(
    db: &Db<'_>,
    project: &ProjectId,
    keys: &[MemoryKey],
) -> Result<Vec<(MemoryKey, MemoryRecord)>, Fault> {
    let select = format!(
        "SELECT {MEMORY} FROM project p JOIN memory m ON m.project = p.key \
         WHERE p.id = $1 AND m.key = ANY($2) AND m.status = 'active' AND m.hidden IS NULL"
    );
    let rows = db.query(&select, &params![project, keys]).await?;
    rows.iter()
        .map(|row| Ok((row.get("key")?, read(row)?)))
        .collect()
}
