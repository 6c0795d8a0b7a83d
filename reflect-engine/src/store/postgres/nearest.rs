//! The memories nearest to a query, found by a scan of their directions.

use async_trait::async_trait;
use reflect_types::ProjectId;

use super::fault::Fault;
use super::sql::Db;
use super::transaction::look;
use super::value::params;
use super::{Postgres, row};
use crate::error::Result;
use crate::store::{Nearest, Proposals, VectorSpace};

/// The least number of memories that tell how far the farthest of the nearest may be.
const SAMPLE: usize = if cfg!(test) { 8 } else { 4_096 };

/// The share of all pages, in percent, that has about so many memories of the project for each that is sought.
///
/// Pages from all over the table: memories that were learned one after another are alike.
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53")]
fn sampled(count: usize, of: usize) -> f64 {
    let sample = count.saturating_mul(4).saturating_add(SAMPLE);
    (100.0 * sample as f64 / of.max(1) as f64).min(100.0)
}

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
        look!(self, |db| nearest(db, project, space, probe, count, of))
    }
}

async fn nearest(
    db: &Db<'_>,
    project: &ProjectId,
    space: &VectorSpace,
    probe: &[f32],
    count: usize,
    of: usize,
) -> Result<Nearest, Fault> {
    // What is computed once is a query of its own, or it would be computed for every row. What is farther than as
    // many of a sample is left out before it is sorted: sorting costs as much as half of the products.
    let rows = db
        .query(
            "WITH probe AS (SELECT l2_normalize($3::vector)::halfvec AS direction), \
                 space AS (SELECT p.key AS project, e.key AS embedder FROM project p, embedder e \
                     WHERE p.id = $1 AND e.id = $2 AND e.dims = $4), \
                 sample AS (SELECT direction <#> (SELECT direction FROM probe) AS distance \
                     FROM direction TABLESAMPLE SYSTEM ($6::float8) \
                     WHERE project = (SELECT project FROM space) \
                         AND embedder = (SELECT embedder FROM space)), \
                 bound AS (SELECT coalesce(( \
                     SELECT distance FROM sample ORDER BY distance \
                     OFFSET greatest($5::bigint - 1, 0) LIMIT 1 \
                 ), 'Infinity') AS distance) \
             SELECT memory, direction <#> (SELECT direction FROM probe) AS distance FROM direction \
             WHERE project = (SELECT project FROM space) AND embedder = (SELECT embedder FROM space) \
                 AND direction <#> (SELECT direction FROM probe) <= (SELECT distance FROM bound) \
             ORDER BY distance LIMIT $5",
            params![
                project.as_str(),
                space.embedder,
                *probe,
                row::limit(probe.len()),
                row::limit(count),
                sampled(count, of)
            ],
        )
        .await?;
    let mut memories = Vec::with_capacity(rows.len());
    for row in &rows {
        memories.push((row.get(0)?, -row.get::<f64>(1)?));
    }
    let is_full = memories.len() >= count;
    let last = memories.last().map(|(_, similarity)| *similarity);
    Ok(Nearest {
        others: last.filter(|_| is_full),
        memories,
        margin: margin(probe.len()),
    })
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
