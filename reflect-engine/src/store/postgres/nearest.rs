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
    ) -> Result<Nearest> {
        look!(self, |db| nearest(db, project, space, probe, count))
    }
}

async fn nearest(
    db: &Db<'_>,
    project: &ProjectId,
    space: &VectorSpace,
    probe: &[f32],
    count: usize,
) -> Result<Nearest, Fault> {
    // The direction of the probe is a query of its own, or it would be computed for every row. What is farther
    // than as many of a sample is left out before it is sorted: sorting costs as much as half of the products.
    let rows = db
        .query(
            "WITH near AS NOT MATERIALIZED ( \
                 SELECT memory, \
                     direction <#> (SELECT l2_normalize($3::vector)::halfvec) AS distance \
                 FROM direction WHERE project = (SELECT key FROM project WHERE id = $1) \
                     AND embedder = (SELECT key FROM embedder WHERE id = $2 AND dims = $4) \
             ) SELECT memory, distance FROM near WHERE distance <= (SELECT coalesce(( \
                 SELECT distance FROM (SELECT distance FROM near LIMIT $6) sample \
                 ORDER BY distance OFFSET greatest($5::bigint - 1, 0) LIMIT 1 \
             ), 'Infinity')) ORDER BY distance LIMIT $5",
            params![
                project.as_str(),
                space.embedder,
                *probe,
                row::limit(probe.len()),
                row::limit(count),
                row::limit(count.saturating_mul(4).saturating_add(SAMPLE))
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
