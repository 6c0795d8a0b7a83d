//! Finding traces by their idempotency key or their metadata.

use reflect_types::{Metadata, ProjectId};

use super::db::Db;
use super::fault::Fault;
use super::projects;
use super::row::Row;
use super::traces::CURRENT;
use super::value::{Rows, params};
use crate::store::{FoundTrace, TraceKey, labels};

/// The labels of traces to insert.
pub(super) const LABELS: &str = "project bigint, label bigint, trace bigint";

/// Adds the labels of a trace to the rows of [`insert`].
pub(super) fn add(rows: &mut Rows<'_>, project: i64, trace: i64, metadata: &Metadata) {
    for label in labels(metadata) {
        rows.push([project, label, trace].map(super::value::Value::Int));
    }
}

/// Inserts [`LABELS`].
pub(super) async fn insert(db: &Db<'_>, rows: &Rows<'_>) -> Result<(), Fault> {
    db.insert("trace_label", rows).await
}

pub(super) async fn delete(
    db: &Db<'_>,
    project: i64,
    trace: i64,
    metadata: &Metadata,
) -> Result<(), Fault> {
    let delete = "DELETE FROM trace_label WHERE project = $1 AND label = ANY($3) AND trace = $2";
    db.execute(delete, &params![project, trace, labels(metadata)])
        .await
        .map(drop)
}

/// The newest traces with this key, newest first.
pub(super) async fn find(
    db: &Db<'_>,
    project: &ProjectId,
    key: &TraceKey,
    limit: usize,
) -> Result<Vec<FoundTrace>, Fault> {
    const COLUMNS: &str = "SELECT t.id, t.metadata, r.id IS NOT NULL AS has_review";

    let Some(project) = projects::key(db, project).await? else {
        return Ok(Vec::new());
    };
    let rows = match key {
        TraceKey::Idempotency(key) => {
            let select = format!(
                "{COLUMNS} FROM trace t {CURRENT} \
                 WHERE t.project = $1 AND t.idempotency_key = $3 LIMIT $2"
            );
            db.query(&select, &params![project, limit, key]).await?
        }
        TraceKey::Labels(labels) => {
            let labels = rarest_first(db, project, labels).await?;
            let mut values = Vec::from(params![project, limit]);
            values.extend(labels.iter().map(super::value::ToValue::to_value));
            if labels.is_empty() {
                return Ok(Vec::new());
            }
            let others = (4..3 + labels.len()).map(|place| {
                format!(
                    "AND EXISTS (SELECT 1 FROM trace_label o WHERE o.project = $1 AND o.label = ${place} \
                     AND o.trace = l.trace) "
                )
            });
            let select = format!(
                "{COLUMNS} FROM trace_label l {{THEN}} trace t ON t.project = l.project AND t.key = l.trace \
                 {CURRENT} WHERE l.project = $1 AND l.label = $3 {} ORDER BY l.trace DESC LIMIT $2",
                others.collect::<String>()
            );
            db.query(&select, &values).await?
        }
    };
    rows.iter().map(trace).collect()
}

fn trace(row: &Row) -> Result<FoundTrace, Fault> {
    Ok(FoundTrace {
        id: row.get("id")?,
        metadata: row.json("metadata")?,
        has_review: row.get("has_review")?,
    })
}

/// The labels, that of the fewest traces first: reading begins with it.
async fn rarest_first(db: &Db<'_>, project: i64, labels: &[i64]) -> Result<Vec<i64>, Fault> {
    if let [_] | [] = labels {
        return Ok(labels.to_vec());
    }
    let count = "SELECT count(*) FROM (SELECT 1 FROM trace_label \
         WHERE project = $1 AND label = $2 LIMIT 1000) few";
    let mut counted = Vec::with_capacity(labels.len());
    for label in labels {
        let traces: i64 = db.one(count, &params![project, label]).await?.first()?;
        counted.push((traces, *label));
    }
    counted.sort_unstable();
    Ok(counted.into_iter().map(|(_, label)| label).collect())
}
