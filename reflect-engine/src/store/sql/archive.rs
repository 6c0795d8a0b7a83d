//! Export of a project.

use std::ops::ControlFlow;

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_types::{
    ArchivedMemory, ArchivedTrace, IngestStatus, Judgement, MemoryId, ProjectId, TraceId,
};

use super::db::Db;
use super::driver::Driver;
use super::fault::Fault;
use super::row::Row;
use super::traces::{self, CURRENT, TRACE};
use super::value::params;
use super::{histories, memory_rows, past_reviews, projects, restore};
use crate::error::Result;
use crate::store::{Archive, EmbeddedPiece, Undecoded, page};

#[async_trait]
impl<D: Driver> Archive for D {
    async fn archived_traces_json(
        &self,
        project: &ProjectId,
        after: Option<&TraceId>,
        limit: usize,
    ) -> Result<Vec<Undecoded<ArchivedTrace>>> {
        let arguments = (project.clone(), after.cloned(), limit);
        self.read(arguments, |db, (project, after, limit)| {
            Box::pin(archived_traces(db, project, after.as_ref(), *limit))
        })
        .await
    }

    async fn archived_memories(
        &self,
        project: &ProjectId,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<ArchivedMemory>> {
        let arguments = (project.clone(), after.cloned(), limit);
        self.read(arguments, |db, (project, after, limit)| {
            Box::pin(archived_memories(db, project, after.as_ref(), *limit))
        })
        .await
    }

    async fn restore(
        &self,
        project: &ProjectId,
        creates_project: bool,
        pieces: Vec<EmbeddedPiece>,
        now: Timestamp,
    ) -> Result<u64> {
        let arguments = (project.clone(), creates_project, pieces, now);
        self.write(arguments, |db, (project, creates, pieces, now)| {
            Box::pin(restore::restore(db, project, *creates, pieces, *now))
        })
        .await
    }
}

async fn archived_traces(
    db: &Db<'_>,
    project: &ProjectId,
    after: Option<&TraceId>,
    limit: usize,
) -> Result<Vec<Undecoded<ArchivedTrace>>, Fault> {
    let project = projects::existing(db, project).await?;
    let after = ("after", after.map(TraceId::as_str));
    let after = projects::cursor(db, Some(project), projects::TRACES, after, 0).await?;
    let select = format!(
        "SELECT {TRACE}, t.key, t.receipt, r.alpha, r.reflection, \
             r.created_at AS reviewed_at, EXISTS (SELECT 1 FROM queue j WHERE j.project = t.project \
                 AND j.trace = t.key AND j.kind = 'reflection') AS is_queued \
         FROM trace t {CURRENT} WHERE t.project = $1 AND t.key > $2 ORDER BY t.key LIMIT $3"
    );
    let (mut rows, mut bytes) = (Vec::new(), 0);
    db.read_until(&select, &params![project, after, limit], |row| {
        bytes += row.bytes();
        rows.push(row);
        Ok(if bytes > page::PAGE_BYTES {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        })
    })
    .await?;
    let keys = rows.iter().map(|row| row.get("key"));
    let keys: Vec<i64> = keys.collect::<Result<_, Fault>>()?;
    let mut past = past_reviews::archived(db, project, &keys).await?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    for (row, key) in rows.iter().zip(keys) {
        if bytes > page::PAGE_BYTES {
            break;
        }
        let past_reviews = past.remove(&key).unwrap_or_default();
        bytes += row.bytes() + page::reviews_bytes(&past_reviews);
        let receipt = row.get("receipt")?;
        let judgement = judgement(row)?;
        let is_queued: bool = row.get("is_queued")?;
        found.push(traces::read(row)?.map(|mut trace| {
            if is_queued {
                // Also a failed trace that will be retried automatically.
                trace.ingest_status = IngestStatus::Queued;
            }
            ArchivedTrace {
                trace,
                receipt,
                judgement,
                past_reviews,
            }
        }));
    }
    Ok(found)
}

fn judgement(row: &Row) -> Result<Option<Judgement>, Fault> {
    let Some(alpha) = row.get("alpha")? else {
        return Ok(None);
    };
    Ok(Some(Judgement {
        alpha,
        reflection: row.optional_json("reflection")?,
        created_at: row.get("reviewed_at")?,
    }))
}

async fn archived_memories(
    db: &Db<'_>,
    project: &ProjectId,
    after: Option<&MemoryId>,
    limit: usize,
) -> Result<Vec<ArchivedMemory>, Fault> {
    let project = projects::existing(db, project).await?;
    let after = ("after", after.map(MemoryId::as_str));
    let after = projects::cursor(db, Some(project), projects::MEMORIES, after, 0).await?;
    let select = format!(
        "SELECT {} FROM memory m WHERE m.project = $1 AND m.key > $2 ORDER BY m.key LIMIT $3",
        memory_rows::MEMORY
    );
    let rows = db.query(&select, &params![project, after, limit]).await?;
    let (mut found, mut bytes) = (Vec::new(), 0);
    for portion in rows.chunks(histories::PORTION) {
        let read = histories::archived(db, project, portion).await?;
        for (row, memory) in portion.iter().zip(read) {
            if bytes > page::PAGE_BYTES {
                return Ok(found);
            }
            bytes += row.bytes() + page::history_bytes(&memory.history, memory.set_aside.len());
            found.push(memory);
        }
    }
    Ok(found)
}
