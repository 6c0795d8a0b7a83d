//! Finding traces by their idempotency key or their metadata.

use reflect_types::{Metadata, ProjectId, TraceId};

use super::fault::Fault;
use super::sql::{Db, Row};
use super::value::params;
use super::{projects, row};
use crate::store::{FoundTrace, TraceKey, labels};

pub(super) async fn insert(
    db: &Db<'_>,
    project: i64,
    trace: i64,
    metadata: &Metadata,
) -> Result<(), Fault> {
    let labels = labels(metadata);
    if labels.is_empty() {
        return Ok(());
    }
    db.execute(
        "INSERT INTO trace_label (project, label, trace) SELECT $1, label, $2 FROM unnest($3::bigint[]) label",
        params![project, trace, labels.as_slice()],
    )
    .await?;
    Ok(())
}

/// Labels all traces of a database of an older format.
pub(super) async fn insert_all(db: &Db<'_>) -> Result<(), Fault> {
    const PAGE: i64 = 1_000;

    let mut last = 0_i64;
    loop {
        let rows = db
            .query(
                "SELECT key, project, metadata FROM trace WHERE key > $1 AND metadata <> '{}' \
                 ORDER BY key LIMIT $2",
                params![last, PAGE],
            )
            .await?;
        for found in &rows {
            last = found.get(0)?;
            insert(db, found.get(1)?, last, &row::json(found, 2)?).await?;
        }
        if rows.is_empty() {
            return Ok(());
        }
    }
}

pub(super) async fn delete(
    db: &Db<'_>,
    project: i64,
    trace: i64,
    metadata: &Metadata,
) -> Result<(), Fault> {
    db.execute(
        "DELETE FROM trace_label WHERE project = $1 AND trace = $2 AND label = ANY($3)",
        params![project, trace, labels(metadata).as_slice()],
    )
    .await?;
    Ok(())
}

/// The newest traces with this key, newest first.
pub(super) async fn find(
    db: &Db<'_>,
    project: &ProjectId,
    key: &TraceKey,
    limit: usize,
) -> Result<Vec<FoundTrace>, Fault> {
    const COLUMNS: &str = "SELECT t.id, t.metadata, r.id IS NOT NULL";
    let Some(project) = projects::key(db, project).await? else {
        return Ok(Vec::new());
    };
    let limit = row::limit(limit);
    let rows = match key {
        TraceKey::Idempotency(key) => {
            let select = format!(
                "{COLUMNS} FROM trace t LEFT JOIN review r ON r.trace = t.key \
                 WHERE t.project = $1 AND t.idempotency_key = $3 LIMIT $2"
            );
            db.query(&select, params![project, limit, key]).await?
        }
        TraceKey::Labels(labels) => {
            let labels = rarest_first(db, project, labels).await?;
            let Some((first, others)) = labels.split_first() else {
                return Ok(Vec::new());
            };
            let select = format!(
                "{COLUMNS} FROM trace_label l JOIN trace t ON t.key = l.trace \
                 LEFT JOIN review r ON r.trace = t.key WHERE l.project = $1 AND l.label = $3 \
                 AND NOT EXISTS (SELECT FROM unnest($4::bigint[]) other WHERE NOT EXISTS ( \
                     SELECT FROM trace_label o WHERE o.project = $1 AND o.label = other \
                     AND o.trace = l.trace)) \
                 ORDER BY l.trace DESC LIMIT $2"
            );
            db.query(&select, params![project, limit, *first, others])
                .await?
        }
    };
    rows.iter().map(trace).collect()
}

fn trace(row: &Row) -> Result<FoundTrace, Fault> {
    Ok(FoundTrace {
        id: TraceId::new(row.get::<String>(0)?),
        metadata: row::json(row, 1)?,
        has_review: row.get(2)?,
    })
}

/// The labels, that of the fewest traces first: reading begins with it.
async fn rarest_first(db: &Db<'_>, project: i64, labels: &[i64]) -> Result<Vec<i64>, Fault> {
    db.column(
        "SELECT label FROM unnest($2::bigint[]) label ORDER BY (SELECT count(*) FROM (SELECT FROM \
         trace_label l WHERE l.project = $1 AND l.label = label LIMIT 1000) few), label",
        params![project, labels],
    )
    .await
}
