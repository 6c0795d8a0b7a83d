//! Spans of OpenTelemetry until the runs of their trace are recorded.

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{KeyId, ProjectId};

use super::fault::Fault;
use super::sql::Db;
use super::transaction::{read, write};
use super::value::params;
use super::{Postgres, projects, row};
use crate::error::Result;
use crate::store::spans::SpanRoom;
use crate::store::{SpanAuthor, SpanBatch, SpanClaims, SpanCounts, SpanPart, SpanTrace, Spans};

#[async_trait]
impl Spans for Postgres {
    async fn insert_spans(
        &self,
        project: &ProjectId,
        author: &SpanAuthor,
        mut batches: Vec<SpanBatch>,
    ) -> Result<SpanCounts> {
        // The rows of traces are locked in this order.
        batches.sort_by(|one, other| one.trace_id.cmp(&other.trace_id));
        write!(self, |db| insert(db, project, author, &batches))
    }

    async fn claim_span_traces(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<SpanClaims> {
        // A look first: an idle engine must not write again and again.
        let (next_due, has_forgotten) = read!(self, |db| look(db, now))?;
        if !has_forgotten && next_due.is_none_or(|due| due > now) {
            return Ok(SpanClaims {
                traces: Vec::new(),
                next_due,
            });
        }
        let claimed = write!(self, |db| claim(db, now, until, limit))?;
        read!(self, |db| load_all(db, &claimed))
    }

    async fn close_span_trace(&self, key: i64, forget: Option<Timestamp>) -> Result<()> {
        write!(self, |db| close(db, key, forget))
    }
}

async fn insert(
    db: &Db<'_>,
    project: &ProjectId,
    author: &SpanAuthor,
    batches: &[SpanBatch],
) -> Result<SpanCounts, Fault> {
    let project = projects::key_to_fill(db, project, author.creates_project).await?;
    let author = author.key_id.as_ref().map_or("", KeyId::as_str);
    let mut counts = SpanCounts::default();
    for batch in batches {
        insert_batch(db, project, author, batch, &mut counts).await?;
    }
    Ok(counts)
}

async fn insert_batch(
    db: &Db<'_>,
    project: i64,
    author: &str,
    batch: &SpanBatch,
    counts: &mut SpanCounts,
) -> Result<(), Fault> {
    let due = batch.due.as_millisecond();
    // The row stays locked until the end of the transaction, so that nobody closes it meanwhile.
    let found = db
        .one(
            "INSERT INTO span_trace (project, key_id, trace_id, due_at) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (project, key_id, trace_id) DO UPDATE SET parts = span_trace.parts \
             RETURNING key, state = 'open', parts, bytes",
            params![project, author, batch.trace_id, due],
        )
        .await?;
    let (key, is_open): (i64, bool) = (found.get(0)?, found.get(1)?);
    let mut room = SpanRoom::beside(found.get(2)?, found.get(3)?);
    let ids: Vec<String> = batch.parts.iter().map(|part| part.id.clone()).collect();
    let known: HashSet<String> = db
        .column(
            "SELECT id FROM span_part WHERE span_trace = $1 AND id = ANY($2)",
            params![key, ids.as_slice()],
        )
        .await?
        .into_iter()
        .collect();
    let new: Vec<&SpanPart> = batch
        .parts
        .iter()
        .filter(|part| !known.contains(&part.id))
        .collect();
    counts.repeated += known.len() as u64;
    if !is_open {
        counts.late += new.len() as u64;
        return Ok(());
    }
    let (fitting, over): (Vec<&SpanPart>, Vec<&SpanPart>) =
        new.into_iter().partition(|part| room.take(part));
    counts.over_limit += over.len() as u64;
    counts.added += fitting.len() as u64;
    insert_parts(db, key, &fitting).await?;
    let bytes: usize = fitting.iter().map(|part| part.body.len()).sum();
    db.execute(
        "UPDATE span_trace SET parts = parts + $2, bytes = bytes + $3, has_root = has_root OR $4, \
             due_at = CASE WHEN has_root OR $4 THEN $5::bigint ELSE $6::bigint END WHERE key = $1",
        params![
            key,
            i64::try_from(fitting.len()).unwrap_or(i64::MAX),
            i64::try_from(bytes).unwrap_or(i64::MAX),
            batch.has_root,
            batch.due_with_root.as_millisecond(),
            due
        ],
    )
    .await?;
    Ok(())
}

async fn insert_parts(db: &Db<'_>, key: i64, parts: &[&SpanPart]) -> Result<(), Fault> {
    if parts.is_empty() {
        return Ok(());
    }
    let ids: Vec<String> = parts.iter().map(|part| part.id.clone()).collect();
    let bodies: Vec<String> = parts.iter().map(|part| part.body.clone()).collect();
    db.execute(
        "INSERT INTO span_part (span_trace, id, body) \
         SELECT $1, id, body FROM unnest($2::text[], $3::text[]) WITH ORDINALITY \
             AS sent (id, body, place) ORDER BY place",
        params![key, ids.as_slice(), bodies.as_slice()],
    )
    .await?;
    Ok(())
}

/// When the next trace can be claimed.
async fn next_due(db: &Db<'_>) -> Result<Option<Timestamp>, Fault> {
    let due: Option<Option<i64>> = db
        .value(
            "SELECT min(due_at) FROM span_trace WHERE state IN ('open', 'closing')",
            &[],
        )
        .await?;
    let due = due.flatten();
    Ok(due.map(row::milliseconds).transpose()?)
}

/// When the next trace can be claimed, and whether there are traces to forget.
async fn look(db: &Db<'_>, now: Timestamp) -> Result<(Option<Timestamp>, bool), Fault> {
    let forgotten = "SELECT 1 FROM span_trace WHERE state = 'closed' AND due_at <= $1 LIMIT 1";
    let forgotten = db.first(forgotten, params![now.as_millisecond()]).await?;
    Ok((next_due(db).await?, forgotten.is_some()))
}

/// Claims due traces: their keys and the number of attempts.
async fn claim(
    db: &Db<'_>,
    now: Timestamp,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<(i64, u32)>, Fault> {
    let (now, until) = (now.as_millisecond(), until.as_millisecond());
    db.execute(
        "DELETE FROM span_trace WHERE key IN (SELECT key FROM span_trace WHERE state = 'closed' \
             AND due_at <= $1 ORDER BY due_at LIMIT 1000 FOR UPDATE SKIP LOCKED)",
        params![now],
    )
    .await?;
    let rows = db
        .query(
            "UPDATE span_trace SET state = 'closing', due_at = $2, attempts = attempts + 1 \
             WHERE key IN (SELECT key FROM span_trace WHERE state IN ('open', 'closing') \
                 AND due_at <= $1 ORDER BY due_at, key LIMIT $3 FOR UPDATE SKIP LOCKED) \
             RETURNING key, attempts",
            params![now, until, row::limit(limit)],
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

async fn load_all(db: &Db<'_>, claimed: &[(i64, u32)]) -> Result<SpanClaims, Fault> {
    let mut traces = Vec::with_capacity(claimed.len());
    for (key, attempts) in claimed {
        traces.extend(load(db, *key, *attempts).await?);
    }
    Ok(SpanClaims {
        traces,
        next_due: next_due(db).await?,
    })
}

/// A claimed trace, unless it is deleted since.
async fn load(db: &Db<'_>, key: i64, attempts: u32) -> Result<Option<SpanTrace>, Fault> {
    let found = db
        .first(
            "SELECT p.id, s.key_id FROM span_trace s JOIN project p ON p.key = s.project \
             WHERE s.key = $1",
            params![key],
        )
        .await?;
    let Some(found) = found else {
        return Ok(None);
    };
    let (project, key_id): (String, String) = (found.get(0)?, found.get(1)?);
    let parts = db
        .column(
            "SELECT body FROM span_part WHERE span_trace = $1 AND body IS NOT NULL ORDER BY key",
            params![key],
        )
        .await?;
    Ok(Some(SpanTrace {
        key,
        project: ProjectId::new(project),
        key_id: (!key_id.is_empty()).then(|| KeyId::new(key_id)),
        attempts,
        parts,
    }))
}

async fn close(db: &Db<'_>, key: i64, forget: Option<Timestamp>) -> Result<(), Fault> {
    let Some(forget) = forget else {
        db.execute("DELETE FROM span_trace WHERE key = $1", params![key])
            .await?;
        return Ok(());
    };
    db.execute(
        "UPDATE span_part SET body = NULL WHERE span_trace = $1",
        params![key],
    )
    .await?;
    db.execute(
        "UPDATE span_trace SET state = 'closed', due_at = $2 WHERE key = $1",
        params![key, forget.as_millisecond()],
    )
    .await?;
    Ok(())
}
