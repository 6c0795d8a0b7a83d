//! The memories nearest to a query, found by scans of their directions.
//!
//! A table that is long is scanned in parts, on connections that nobody uses: parallel workers of the database would
//! do the same, but each of them is a process that has to start, for each query.

use std::time::Duration;

use async_trait::async_trait;
use deadpool_postgres::Object;
use futures_util::future::{join_all, try_join_all};
use reflect_types::ProjectId;
use tokio::time::timeout;

use super::fault::Fault;
use super::sql::Db;
use super::transaction::read;
use super::value::params;
use super::{Postgres, row};
use crate::error::Result;
use crate::store::{MemoryKey, Nearest, Proposals, VectorSpace};

/// About the number of memories that tell how far the farthest of the nearest may be.
const SAMPLE: usize = if cfg!(test) { 64 } else { 2_048 };

/// About the least number of bytes of a part.
const PART: usize = if cfg!(test) { 8_192 } else { 8 << 20 };

/// How long a part may take to begin, or to wait for a lock. Others may wait for the first one's transaction.
const PATIENCE: Duration = Duration::from_millis(100);

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
    /// The number of parts that are worth a connection each.
    fn parts(&self) -> usize {
        let each = self.probe.len().saturating_mul(2).saturating_add(48);
        (self.of.saturating_mul(each) / PART).max(1)
    }

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
    /// The number of parts that the database allows.
    allowed: i64,
}

async fn nearest(store: &Postgres, db: &Db<'_>, sought: &Sought<'_>) -> Result<Nearest, Fault> {
    // Before anything is read: until then the transaction holds nothing.
    let mut free = store.free_connections(sought.parts() - 1).await;
    let Some(outline) = outline(db, sought).await? else {
        return Ok(conclude(Vec::new(), f64::INFINITY, sought));
    };
    let others = usize::try_from(outline.allowed - 1).unwrap_or(0);
    free.truncate(others);
    let found = scan_in_parts(db, &mut free, sought, &outline).await?;
    Ok(conclude(found, outline.bound, sought))
}

/// The nearest of all that are within the bound.
fn conclude(mut memories: Vec<(MemoryKey, f64)>, bound: f64, sought: &Sought<'_>) -> Nearest {
    memories.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    memories.truncate(sought.count);
    let others = match memories.last() {
        Some((_, last)) if memories.len() == sought.count => Some(*last),
        _ => bound.is_finite().then_some(-bound),
    };
    Nearest {
        memories,
        others,
        margin: margin(sought.probe.len()),
    }
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
    Ok(Some(Outline {
        project: row.get(0)?,
        embedder: row.get(1)?,
        bound: row.get(2)?,
        pages: row.get(3)?,
        allowed: row.get(4)?,
    }))
}

/// Scans a part on each of the other connections, and the first on this one. All see the snapshot of this one, whose
/// transaction keeps the pages where they are. Where a part fails, this one scans all.
async fn scan_in_parts(
    db: &Db<'_>,
    others: &mut [Object],
    sought: &Sought<'_>,
    outline: &Outline,
) -> Result<Vec<(MemoryKey, f64)>, Fault> {
    if others.is_empty() {
        return scan(db, sought, outline, None).await;
    }
    let snapshot = db.one("SELECT pg_export_snapshot()", params![]).await?;
    let snapshot = &snapshot.text(0)?;
    let begin = |connection| Postgres::begin_reading_as_of(connection, snapshot, PATIENCE);
    let begun = others
        .iter_mut()
        .map(|other| timeout(PATIENCE, begin(other)));
    let begun = join_all(begun).await.into_iter();
    let others: Vec<Db<'_>> = begun.filter_map(|begun| begun.ok()?.ok()).collect();
    let parts = row::limit(others.len()) + 1;
    let range = |part| match part + 1 {
        next if next < parts => [part, next].map(|part| part * outline.pages / parts),
        _ => [part * outline.pages / parts, i64::from(u32::MAX)],
    };
    let each = (1..).zip(&others);
    let each = each.map(|(part, db)| scan(db, sought, outline, Some(range(part))));
    let first = scan(db, sought, outline, Some(range(0)));
    let (first, rest) = tokio::join!(first, try_join_all(each));
    let mut found = first?;
    match rest {
        Ok(rest) => {
            found.extend(rest.into_iter().flatten());
            Ok(found)
        }
        Err(fault) => {
            tracing::debug!(?fault, "a part of a search failed");
            scan(db, sought, outline, None).await
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_found_is_no_nearer_than_the_last_or_the_bound() {
        let (project, space) = ("p".into(), VectorSpace::new("e", 2));
        let sought = Sought {
            project: &project,
            space: &space,
            probe: &[1.0, 0.0],
            count: 2,
            of: 9,
        };
        let found = || vec![(1, 0.25), (2, 0.75), (3, 0.5)];
        let full = conclude(found(), -0.25, &sought);
        assert_eq!(full.memories, [(2, 0.75), (3, 0.5)]);
        assert_eq!(full.others, Some(0.5));
        let few = conclude(vec![(2, 0.75)], -0.25, &sought);
        assert_eq!((few.memories.len(), few.others), (1, Some(0.25)));
        assert_eq!(conclude(Vec::new(), -0.25, &sought).others, Some(0.25));
        let all = conclude(vec![(2, 0.75)], f64::INFINITY, &sought);
        assert_eq!(all.others, None);
    }
}
