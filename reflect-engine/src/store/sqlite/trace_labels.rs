//! Finding traces by their idempotency key or their metadata.

use reflect_types::{Metadata, ProjectId, TraceId};
use rusqlite::{Connection, Row, params, params_from_iter};

use super::fault::Fault;
use super::{projects, row};
use crate::store::{FoundTrace, TraceKey, labels};

pub(super) fn insert(
    db: &Connection,
    project: i64,
    trace: i64,
    metadata: &Metadata,
) -> Result<(), Fault> {
    let mut insert =
        db.prepare_cached("INSERT INTO trace_label (project, label, trace) VALUES (?1, ?2, ?3)")?;
    for label in labels(metadata) {
        insert.execute(params![project, label, trace])?;
    }
    Ok(())
}

pub(super) fn delete(
    db: &Connection,
    project: i64,
    trace: i64,
    metadata: &Metadata,
) -> Result<(), Fault> {
    let mut delete = db.prepare_cached(
        "DELETE FROM trace_label WHERE project = ?1 AND label = ?2 AND trace = ?3",
    )?;
    for label in labels(metadata) {
        delete.execute(params![project, label, trace])?;
    }
    Ok(())
}

/// The newest traces with this key, newest first.
pub(super) fn find(
    db: &Connection,
    project: &ProjectId,
    key: &TraceKey,
    limit: usize,
) -> Result<Vec<FoundTrace>, Fault> {
    const COLUMNS: &str = "SELECT t.id, t.metadata, r.id IS NOT NULL";

    let Some(project) = projects::key(db, project)? else {
        return Ok(Vec::new());
    };
    let (select, values) = match key {
        TraceKey::Idempotency(key) => {
            let select = format!(
                "{COLUMNS} FROM trace t LEFT JOIN review r ON r.trace = t.key \
                 WHERE t.project = ?1 AND t.idempotency_key = ?3 LIMIT ?2"
            );
            (select, vec![key.clone().into()])
        }
        TraceKey::Labels(labels) if labels.is_empty() => return Ok(Vec::new()),
        TraceKey::Labels(labels) => {
            let labels = rarest_first(db, project, labels)?;
            let others = (4..3 + labels.len()).map(|place| {
                format!(
                    "AND EXISTS (SELECT 1 FROM trace_label o WHERE o.project = ?1 AND o.label = ?{place} \
                     AND o.trace = l.trace) "
                )
            });
            let select = format!(
                "{COLUMNS} FROM trace_label l CROSS JOIN trace t ON t.key = l.trace \
                 LEFT JOIN review r ON r.trace = t.key WHERE l.project = ?1 AND l.label = ?3 {} \
                 ORDER BY l.trace DESC LIMIT ?2",
                others.collect::<String>()
            );
            (select, labels.into_iter().map(Into::into).collect())
        }
    };
    let first: [rusqlite::types::Value; 2] = [project.into(), row::limit(limit).into()];
    let mut select = db.prepare_cached(&select)?;
    let mut rows = select.query(params_from_iter(first.into_iter().chain(values)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(trace(row)?);
    }
    Ok(found)
}

fn trace(row: &Row<'_>) -> Result<FoundTrace, Fault> {
    Ok(FoundTrace {
        id: TraceId::new(row.get::<_, String>(0)?),
        metadata: row::json(row, 1)?,
        has_review: row.get(2)?,
    })
}

/// The labels, that of the fewest traces first: reading begins with it.
fn rarest_first(db: &Connection, project: i64, labels: &[i64]) -> Result<Vec<i64>, Fault> {
    let mut labels = labels.to_vec();
    if labels.len() > 1 {
        let mut count = db.prepare_cached(
            "SELECT count(*) FROM (SELECT 1 FROM trace_label \
             WHERE project = ?1 AND label = ?2 LIMIT 1000)",
        )?;
        let mut counted = Vec::with_capacity(labels.len());
        for label in labels {
            let traces: i64 = count.query_row(params![project, label], |row| row.get(0))?;
            counted.push((traces, label));
        }
        counted.sort_unstable();
        labels = counted.into_iter().map(|(_, label)| label).collect();
    }
    Ok(labels)
}
