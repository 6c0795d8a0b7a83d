//! Spans of OpenTelemetry until the runs of their trace are recorded.

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{KeyId, ProjectId};

use super::db::Db;
use super::driver::{Driver, run};
use super::fault::Fault;
use super::projects;
use super::row::{Row, time_of};
use super::value::{Rows, params};
use crate::error::Result;
use crate::store::spans::SpanRoom;
use crate::store::{
    ProjectRow, SpanAuthor, SpanBatch, SpanClaims, SpanCounts, SpanPart, SpanTrace, Spans,
};

#[async_trait]
impl<D: Driver> Spans for D {
    async fn insert_spans(
        &self,
        project: &ProjectId,
        author: &SpanAuthor,
        mut batches: Vec<SpanBatch>,
    ) -> Result<SpanCounts> {
        // The rows of traces are locked in this order.
        batches.sort_by(|one, other| one.trace_id.cmp(&other.trace_id));
        let arguments = (project.clone(), author.clone(), batches);
        self.write(arguments, |db, (project, author, batches)| {
            Box::pin(insert(db, project, author, batches))
        })
        .await
    }

    async fn claim_span_traces(
        &self,
        now: Timestamp,
        until: Timestamp,
        limit: usize,
    ) -> Result<SpanClaims> {
        // An idle engine must not write.
        let look = self.read(now, |db, now| Box::pin(look(db, *now)));
        let (next_due, has_forgotten) = look.await?;
        if !has_forgotten && next_due.is_none_or(|due| due > now) {
            return Ok(SpanClaims {
                traces: Vec::new(),
                next_due,
            });
        }
        let claimed = self.write((now, until, limit), |db, (now, until, limit)| {
            Box::pin(claim(db, *now, *until, *limit))
        });
        self.read(claimed.await?, |db, claimed| {
            Box::pin(load_all(db, claimed))
        })
        .await
    }

    async fn close_span_trace(&self, key: ProjectRow, forget: Option<Timestamp>) -> Result<()> {
        run!(self.write(; key, forget) => close)
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
             RETURNING key, state = 'open' AS is_open, parts, bytes",
            &params![project, author, batch.trace_id, due],
        )
        .await?;
    let key: i64 = found.get("key")?;
    let mut room = SpanRoom::beside(found.get("parts")?, found.get("bytes")?);
    let ids: Vec<&str> = batch.parts.iter().map(|part| part.id.as_str()).collect();
    let known = "SELECT id FROM span_part WHERE project = $1 AND span_trace = $2 AND id = ANY($3)";
    let known = db.column(known, &params![project, key, ids]).await?;
    let known: HashSet<String> = known.into_iter().collect();
    let new = batch.parts.iter().filter(|part| !known.contains(&part.id));
    let new: Vec<&SpanPart> = new.collect();
    counts.repeated += known.len() as u64;
    if !found.get::<bool>("is_open")? {
        counts.late += new.len() as u64;
        return Ok(());
    }
    let (fitting, over): (Vec<&SpanPart>, Vec<&SpanPart>) =
        new.into_iter().partition(|part| room.take(part));
    counts.over_limit += over.len() as u64;
    counts.added += fitting.len() as u64;
    let mut rows = Rows::new("project bigint, span_trace bigint, id text, body text");
    for part in &fitting {
        rows.push(params![project, key, part.id, part.body]);
    }
    db.insert("span_part", &rows).await?;
    let bytes: usize = fitting.iter().map(|part| part.body.len()).sum();
    let with_root = batch.due_with_root.as_millisecond();
    db.execute(
        "UPDATE span_trace SET parts = parts + $3, bytes = bytes + $4, has_root = has_root OR $5, \
             due_at = CASE WHEN has_root OR $5 THEN $6::bigint ELSE $7::bigint END \
         WHERE project = $1 AND key = $2",
        &params![
            project,
            key,
            fitting.len(),
            bytes,
            batch.has_root,
            with_root,
            due
        ],
    )
    .await
    .map(drop)
}

/// When the next trace can be claimed.
async fn next_due(db: &Db<'_>) -> Result<Option<Timestamp>, Fault> {
    let select = "SELECT min(due_at) FROM span_trace WHERE state IN ('open', 'closing')";
    let due: Option<i64> = db.one(select, &[]).await?.first()?;
    due.map(time_of).transpose()
}

/// When the next trace can be claimed, and whether there are traces to forget.
async fn look(db: &Db<'_>, now: Timestamp) -> Result<(Option<Timestamp>, bool), Fault> {
    let forgotten =
        "SELECT 1 AS one FROM span_trace WHERE state = 'closed' AND due_at <= $1 LIMIT 1";
    let forgotten = db.first(forgotten, &params![now.as_millisecond()]).await?;
    Ok((next_due(db).await?, forgotten.is_some()))
}

/// Claims due traces: their keys and the number of attempts.
async fn claim(
    db: &Db<'_>,
    now: Timestamp,
    until: Timestamp,
    limit: usize,
) -> Result<Vec<(ProjectRow, u32)>, Fault> {
    let (now, until) = (now.as_millisecond(), until.as_millisecond());
    db.execute(
        "DELETE FROM span_trace WHERE (project, key) IN (SELECT project, key FROM span_trace \
             WHERE state = 'closed' AND due_at <= $1 ORDER BY due_at LIMIT 1000 FOR UPDATE SKIP LOCKED)",
        &params![now],
    )
    .await?;
    let rows = db
        .query(
            "UPDATE span_trace SET state = 'closing', due_at = $2, attempts = attempts + 1 \
             WHERE (project, key) IN (SELECT project, key FROM span_trace \
                 WHERE state IN ('open', 'closing') AND due_at <= $1 \
                 ORDER BY due_at, key LIMIT $3 FOR UPDATE SKIP LOCKED) \
             RETURNING project, key, attempts",
            &params![now, until, limit],
        )
        .await?;
    rows.iter()
        .map(|row| Ok((row_of(row)?, row.get("attempts")?)))
        .collect()
}

fn row_of(row: &Row) -> Result<ProjectRow, Fault> {
    Ok(ProjectRow {
        project: row.get("project")?,
        key: row.get("key")?,
    })
}

async fn load_all(db: &Db<'_>, claimed: &[(ProjectRow, u32)]) -> Result<SpanClaims, Fault> {
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
async fn load(db: &Db<'_>, key: ProjectRow, attempts: u32) -> Result<Option<SpanTrace>, Fault> {
    let select = "SELECT p.id, s.key_id FROM span_trace s JOIN project p ON p.key = s.project \
         WHERE s.project = $1 AND s.key = $2";
    let values = params![key.project, key.key];
    let Some(found) = db.first(select, &values).await? else {
        return Ok(None);
    };
    let key_id: String = found.get("key_id")?;
    let parts = "SELECT body FROM span_part WHERE project = $1 AND span_trace = $2 AND body IS NOT NULL \
         ORDER BY key";
    Ok(Some(SpanTrace {
        key,
        project: found.get("id")?,
        key_id: (!key_id.is_empty()).then(|| KeyId::new(key_id)),
        attempts,
        parts: db.column(parts, &values).await?,
    }))
}

async fn close(db: &Db<'_>, key: ProjectRow, forget: Option<Timestamp>) -> Result<(), Fault> {
    let values = params![key.project, key.key];
    let Some(forget) = forget else {
        let delete = "DELETE FROM span_trace WHERE project = $1 AND key = $2";
        return db.execute(delete, &values).await.map(drop);
    };
    let empty = "UPDATE span_part SET body = NULL WHERE project = $1 AND span_trace = $2";
    db.execute(empty, &values).await?;
    let close =
        "UPDATE span_trace SET state = 'closed', due_at = $3 WHERE project = $1 AND key = $2";
    let forget = forget.as_millisecond();
    db.execute(close, &params![key.project, key.key, forget])
        .await
        .map(drop)
}
