//! The memories nearest to a query, found by scans of their directions.
//!
//! A table that is long is scanned in parts, on connections that nobody uses: parallel workers of the database would
//! do the same, but each of them is a process that has to start.

use async_trait::async_trait;
use futures_util::future::try_join_all;
use reflect_types::ProjectId;

use super::fault::Fault;
use super::sql::Db;
use super::transaction::read;
use super::value::params;
use super::{Postgres, row};
use crate::error::Result;
use crate::store::{MemoryKey, Nearest, Proposals, VectorSpace};

/// About the number of memories that tell how far the farthest of the nearest may be.
const SAMPLE: usize = if cfg!(test) { 64 } else { 2_048 };

/// The least number of pages of a part.
const PART: i64 = if cfg!(test) { 1 } else { 1_024 };

/// The most parts, whatever the database allows.
const MOST_PARTS: i64 = 8;

#[async_trait]
impl Proposals for Postgres {
    fn proposes(&self) -> bool {
        true
    }

    async fn nearest(
        &self,
        project: &ProjectId,
        space: &VectorSpace,
        probe: &[f32],
        count: usize,
        of: usize,
    ) -> Result<Nearest> {
        let sought = Sought {
            project,
            space,
            probe,
            count,
            of,
        };
        read!(self, |db| nearest(self, db, &sought))
    }
}

struct Sought<'a> {
    project: &'a ProjectId,
    space: &'a VectorSpace,
    probe: &'a [f32],
    count: usize,
    /// About the number of memories of the project.
    of: usize,
}

impl Sought<'_> {
    /// The share of all pages, in percent, that has about [`SAMPLE`] memories of the project; and which of them, by
    /// distance, is likely to be farther than all that are sought.
    ///
    /// Pages from all over the table: memories that were learned one after another are alike.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "there are fewer than 2^53"
    )]
    fn sample(&self) -> (f64, i64) {
        let share = (SAMPLE as f64 / self.of.max(1) as f64).min(1.0);
        let expected = share * self.count as f64;
        let place = 1.5 * expected + 3.0 * expected.sqrt() + 2.0;
        (100.0 * share, place as i64)
    }
}

/// What is known before the scan.
struct Outline {
    project: i64,
    embedder: i64,
    /// What is farther is left out before it is sorted, which costs as much as half of the products. If that leaves
    /// fewer than are sought, no other is nearer than this.
    bound: f64,
    pages: i64,
    parts: i64,
}

async fn nearest(store: &Postgres, db: &Db<'_>, sought: &Sought<'_>) -> Result<Nearest, Fault> {
    let margin = margin(sought.probe.len());
    let Some(outline) = outline(db, sought).await? else {
        return Ok(Nearest {
            memories: Vec::new(),
            others: None,
            margin,
        });
    };
    let mut memories = scan_in_parts(store, db, sought, &outline).await?;
    memories.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    memories.truncate(sought.count);
    let others = match memories.last() {
        Some((_, last)) if memories.len() == sought.count => Some(*last),
        _ => outline.bound.is_finite().then_some(-outline.bound),
    };
    Ok(Nearest {
        memories,
        others,
        margin,
    })
}

/// `None` without a project or vectors of the space.
async fn outline(db: &Db<'_>, sought: &Sought<'_>) -> Result<Option<Outline>, Fault> {
    // What is computed once is a query of its own, or it would be computed for every row. A range of pages helps
    // where most of them are the project's; where they are not, an index finds them.
    let (share, place) = sought.sample();
    let row = db
        .first(
            "WITH probe AS (SELECT l2_normalize($3::vector)::halfvec AS direction), \
                 space AS (SELECT p.key AS project, e.key AS embedder FROM project p, embedder e \
                     WHERE p.id = $1 AND e.id = $2 AND e.dims = $4), \
                 sample AS (SELECT direction <#> (SELECT direction FROM probe) AS distance \
                     FROM direction TABLESAMPLE SYSTEM ($5::float8) REPEATABLE (0) \
                     WHERE project = (SELECT project FROM space) \
                         AND embedder = (SELECT embedder FROM space)) \
             SELECT project, embedder, coalesce(( \
                     SELECT distance FROM sample ORDER BY distance OFFSET $6::bigint LIMIT 1 \
                 ), 'Infinity'), \
                 pg_relation_size('direction') / current_setting('block_size')::bigint, \
                 CASE WHEN (SELECT reltuples FROM pg_class WHERE oid = 'direction'::regclass) \
                     <= 2 * $7::bigint \
                     THEN current_setting('max_parallel_workers_per_gather')::bigint + 1 ELSE 1 END \
             FROM space",
            params![
                sought.project.as_str(),
                sought.space.embedder,
                *sought.probe,
                row::limit(sought.probe.len()),
                share,
                place,
                row::limit(sought.of)
            ],
        )
        .await?;
    let Some(row) = row else { return Ok(None) };
    let (pages, allowed) = (row.get(3)?, row.get::<i64>(4)?);
    Ok(Some(Outline {
        project: row.get(0)?,
        embedder: row.get(1)?,
        bound: row.get(2)?,
        pages,
        parts: allowed.min(pages / PART).min(MOST_PARTS),
    }))
}

/// Scans a part on each connection that is free, and the first on this one. All see the snapshot of this one,
/// whose transaction keeps the pages where they are.
async fn scan_in_parts(
    store: &Postgres,
    db: &Db<'_>,
    sought: &Sought<'_>,
    outline: &Outline,
) -> Result<Vec<(MemoryKey, f64)>, Fault> {
    let mut free = Vec::new();
    while row::limit(free.len()) + 1 < outline.parts {
        let Some(connection) = store.free_connection().await else {
            break;
        };
        free.push(connection);
    }
    if free.is_empty() {
        return scan(db, sought, outline, None).await;
    }
    let snapshot: Option<String> = db.value("SELECT pg_export_snapshot()", params![]).await?;
    let snapshot = snapshot.unwrap_or_default();
    let parts = row::limit(free.len()) + 1;
    let begin = |part: i64| part * outline.pages / parts;
    let others = (1..).zip(&mut free).map(async |(part, connection)| {
        let db = Postgres::begin_reading_as_of(connection, &snapshot).await?;
        let end = if part + 1 < parts {
            begin(part + 1)
        } else {
            i64::from(u32::MAX)
        };
        let found = scan(&db, sought, outline, Some([begin(part), end])).await?;
        db.commit().await?;
        Ok(found)
    });
    let first = scan(db, sought, outline, Some([0, begin(1)]));
    let (mut found, others) = tokio::try_join!(first, try_join_all(others))?;
    found.extend(others.into_iter().flatten());
    Ok(found)
}

/// The nearest of all memories, or of those in the pages from the first to before the second.
async fn scan(
    db: &Db<'_>,
    sought: &Sought<'_>,
    outline: &Outline,
    pages: Option<[i64; 2]>,
) -> Result<Vec<(MemoryKey, f64)>, Fault> {
    let range = match pages {
        Some(_) => "ctid >= $6::text::tid AND ctid < $7::text::tid",
        None => "$6::text IS NULL AND $7::text IS NULL",
    };
    let sql = format!(
        "WITH probe AS (SELECT l2_normalize($1::vector)::halfvec AS direction) \
         SELECT memory, direction <#> (SELECT direction FROM probe) AS distance FROM direction \
         WHERE {range} AND project = $2 AND embedder = $3 \
             AND direction <#> (SELECT direction FROM probe) <= $4 \
         ORDER BY distance LIMIT $5"
    );
    let page = |at: usize| pages.map(|pages| format!("({},0)", pages[at]));
    let rows = db
        .query(
            &sql,
            params![
                *sought.probe,
                outline.project,
                outline.embedder,
                outline.bound,
                row::limit(sought.count),
                page(0),
                page(1)
            ],
        )
        .await?;
    let found = rows
        .iter()
        .map(|row| Ok((row.get(0)?, -row.get::<f64>(1)?)));
    found.collect()
}

/// How far the product of two directions in half precision may be from the cosine.
///
/// Rounding to 11 bits moves a direction by at most 2^-11 of its length, so the product of two by less
/// than 2^-10, or 0.00098; what the least numbers lose is far below the rest of 0.001. The sum is in single
/// precision, where each of its terms may lose 2^-24 of a sum that is at most 1.
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53")]
fn margin(dims: usize) -> f64 {
    0.001 + dims as f64 * f64::from(f32::EPSILON)
}
