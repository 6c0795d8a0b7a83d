//! Spans of OpenTelemetry until the runs of their trace are recorded.

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{KeyId, ProjectId};
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::{Sqlite, projects, row};
use crate::error::Result;
use crate::store::spans::SpanRoom;
use crate::store::{SpanAuthor, SpanBatch, SpanClaims, SpanCounts, SpanTrace, Spans};

#[async_trait]
impl Spans for Sqlite {
    async fn insert_spans(
        &self,
        project: &ProjectId,
        author: &SpanAuthor,
        batches: Vec<SpanBatch>,
    ) -> Result<SpanCounts> {
        let (project, author) = (project.clone(), author.clone());
        self.write(move |db| insert(db, &project, &author, &batches))
            .await
    }

    async fn claim_span_traces(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<SpanClaims> {
        // A look first: an idle engine must not take the write lock again and again.
        let due = self.read(move |db| Ok((next_due(db)?, has_forgotten(db, now)?)));
        let (next_due, has_forgotten) = due.await?;
        if !has_forgotten && next_due.is_none_or(|due| due > now) {
            return Ok(SpanClaims {
                traces: Vec::new(),
                next_due,
            });
        }
        let claimed = self.write(move |db| claim(db, now, until, limit)).await?;
        // On a reader, because spans are long and all writes share one thread.
        self.read(move |db| {
            let traces = claimed
                .iter()
                .map(|(key, attempts)| load(db, *key, *attempts));
            let traces = traces.collect::<Result<Vec<_>, Fault>>()?;
            Ok(SpanClaims {
                traces: traces.into_iter().flatten().collect(),
                next_due: self::next_due(db)?,
            })
        })
        .await
    }

    async fn close_span_trace(&self, key: i64, forget: Option<Timestamp>) -> Result<()> {
        self.write(move |db| close(db, key, forget)).await
    }
}

fn insert(
    db: &Connection,
    project: &ProjectId,
    author: &SpanAuthor,
    batches: &[SpanBatch],
) -> Result<SpanCounts, Fault> {
    let project = projects::row(db, project, author.creates_project)?;
    let author = author.key_id.as_ref().map_or("", KeyId::as_str);
    let mut counts = SpanCounts::default();
    for batch in batches {
        insert_batch(db, project, author, batch, &mut counts)?;
    }
    Ok(counts)
}

fn insert_batch(
    db: &Connection,
    project: i64,
    author: &str,
    batch: &SpanBatch,
    counts: &mut SpanCounts,
) -> Result<(), Fault> {
    let due = batch.due.as_millisecond();
    let (key, is_open, parts, bytes): (i64, bool, i64, i64) = db
        .prepare_cached(
            "INSERT INTO span_trace (project, key_id, trace_id, due_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (project, key_id, trace_id) DO UPDATE SET parts = parts \
             RETURNING key, state = 'open', parts, bytes",
        )?
        .query_row(params![project, author, batch.trace_id, due], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let mut room = SpanRoom::beside(parts, bytes);
    let (mut added, mut length) = (0_i64, 0_i64);
    for part in &batch.parts {
        let is_known = db
            .prepare_cached("SELECT 1 FROM span_part WHERE span_trace = ?1 AND id = ?2")?
            .exists(params![key, part.id])?;
        let counted = match (is_known, is_open) {
            (true, _) => &mut counts.repeated,
            (false, false) => &mut counts.late,
            (false, true) if !room.take(part) => &mut counts.over_limit,
            (false, true) => {
                db.prepare_cached(
                    "INSERT INTO span_part (span_trace, id, body) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![key, part.id, part.body])?;
                added += 1;
                length += i64::try_from(part.body.len()).unwrap_or(i64::MAX);
                &mut counts.added
            }
        };
        *counted += 1;
    }
    if is_open {
        db.prepare_cached(
            "UPDATE span_trace SET parts = parts + ?2, bytes = bytes + ?3, \
                 has_root = has_root OR ?4, \
                 due_at = CASE WHEN has_root OR ?4 THEN ?5 ELSE ?6 END WHERE key = ?1",
        )?
        .execute(params![
            key,
            added,
            length,
            batch.has_root,
            batch.due_with_root.as_millisecond(),
            due
        ])?;
    }
    Ok(())
}

/// When the next trace can be claimed.
fn next_due(db: &Connection) -> Result<Option<Timestamp>, Fault> {
    let due: Option<i64> = db
        .prepare_cached(
            "SELECT min(due) FROM (SELECT min(due_at) AS due FROM span_trace WHERE state = 'open' \
             UNION ALL SELECT min(due_at) FROM span_trace WHERE state = 'closing')",
        )?
        .query_row([], |row| row.get(0))?;
    Ok(due.map(row::milliseconds).transpose()?)
}

fn has_forgotten(db: &Connection, now: Timestamp) -> Result<bool, Fault> {
    Ok(db
        .prepare_cached("SELECT 1 FROM span_trace WHERE state = 'closed' AND due_at <= ?1 LIMIT 1")?
        .exists([now.as_millisecond()])?)
}

/// Claims due traces: their keys and the number of attempts.
fn claim(
    db: &Connection,
    now: Timestamp,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<(i64, u32)>, Fault> {
    /// The traces that are forgotten at a time.
    const FORGOTTEN: i64 = 1_000;

    let (now, until) = (now.as_millisecond(), until.as_millisecond());
    db.prepare_cached(
        "DELETE FROM span_trace WHERE key IN (SELECT key FROM span_trace \
         WHERE state = 'closed' AND due_at <= ?1 ORDER BY due_at LIMIT ?2)",
    )?
    .execute([now, FORGOTTEN])?;
    let mut select = db.prepare_cached(
        "SELECT key FROM span_trace WHERE state IN ('open', 'closing') AND due_at <= ?1 \
         ORDER BY due_at, key LIMIT ?2",
    )?;
    let due = select.query_map(params![now, row::limit(limit)], |row| row.get(0))?;
    let due: Vec<i64> = due.collect::<rusqlite::Result<_>>()?;
    let mut claimed = Vec::with_capacity(due.len());
    for key in due {
        let attempts = db
            .prepare_cached(
                "UPDATE span_trace SET state = 'closing', due_at = ?2, attempts = attempts + 1 \
                 WHERE key = ?1 RETURNING attempts",
            )?
            .query_row([key, until], |row| row.get(0))?;
        claimed.push((key, attempts));
    }
    Ok(claimed)
}

/// A claimed trace, unless it is deleted since.
fn load(db: &Connection, key: i64, attempts: u32) -> Result<Option<SpanTrace>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT p.id, s.key_id FROM span_trace s JOIN project p ON p.key = s.project WHERE s.key = ?1",
    )?;
    let mut rows = select.query([key])?;
    let Some(found) = rows.next()? else {
        return Ok(None);
    };
    let (project, key_id): (String, String) = (found.get(0)?, found.get(1)?);
    let mut select = db.prepare_cached(
        "SELECT body FROM span_part WHERE span_trace = ?1 AND body IS NOT NULL ORDER BY key",
    )?;
    let parts = select.query_map([key], |row| row.get(0))?;
    Ok(Some(SpanTrace {
        key,
        project: ProjectId::new(project),
        key_id: (!key_id.is_empty()).then(|| KeyId::new(key_id)),
        attempts,
        parts: parts.collect::<rusqlite::Result<_>>()?,
    }))
}

fn close(db: &Connection, key: i64, forget: Option<Timestamp>) -> Result<(), Fault> {
    let Some(forget) = forget else {
        db.prepare_cached("DELETE FROM span_trace WHERE key = ?1")?
            .execute([key])?;
        return Ok(());
    };
    db.prepare_cached("UPDATE span_part SET body = NULL WHERE span_trace = ?1")?
        .execute([key])?;
    db.prepare_cached("UPDATE span_trace SET state = 'closed', due_at = ?2 WHERE key = ?1")?
        .execute([key, forget.as_millisecond()])?;
    Ok(())
}
