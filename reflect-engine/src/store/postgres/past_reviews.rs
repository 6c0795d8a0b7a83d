//! Reviews that no longer stand.

use reflect_types::{ArchivedReview, KeyId, MemoryId, Reviewer};

use super::fault::Fault;
use super::row::{self, PAST_REVIEW};
use super::sql::Db;
use super::value::params;
use crate::clock;
use crate::review::Withdrawal;

/// Appends the review of a trace to its history, with what was learned from it, without edits. The
/// memory holds its content only when the work on it is done. A memory that was deleted since is
/// named, without content.
pub(super) async fn keep(db: &Db<'_>, trace: i64) -> Result<(), Fault> {
    db.execute(
        "INSERT INTO past_review (trace, key_id, reviewer_model, created_at, id, verdict, \
             feedback, alpha, reflection, mode, overruled_model, overruled_verdict, \
             memory_id, learned, generation) SELECT t.key, r.key_id, r.reviewer_model, \
             r.created_at, r.id, r.verdict, r.feedback, r.alpha, r.reflection, r.mode, \
             r.overruled_model, r.overruled_verdict, CASE WHEN t.reviewed AND t.ingest_status \
             = 'completed' THEN t.created_memory ELSE NULL END, coalesce((SELECT c.before \
             FROM memory_change c WHERE c.project = m.project AND c.memory_id = m.id AND \
             c.kind = 'edited' AND NOT c.closed AND c.generation >= m.generation ORDER BY \
             c.key LIMIT 1), m.reflection), coalesce(m.generation, 0) FROM trace t JOIN \
             review r ON r.trace = t.key LEFT JOIN memory m ON m.project = t.project AND m.id \
             = t.created_memory AND t.reviewed AND t.ingest_status = 'completed' WHERE t.key \
             = $1",
        params![trace],
    )
    .await?;
    Ok(())
}

/// Appends a withdrawal to the history of a trace.
pub(super) async fn keep_withdrawal(db: &Db<'_>, trace: i64, by: &Withdrawal) -> Result<(), Fault> {
    db.execute(
        "INSERT INTO past_review (trace, key_id, created_at) VALUES ($1, $2, $3)",
        params![
            trace,
            by.key_id.as_ref().map(KeyId::as_str),
            clock::text(by.at),
        ],
    )
    .await?;
    Ok(())
}

/// The past reviews of a trace, oldest first.
pub(super) async fn of_trace(db: &Db<'_>, trace: i64) -> Result<Vec<ArchivedReview>, Fault> {
    let rows = db
        .query(
            &format!("SELECT {PAST_REVIEW} FROM past_review WHERE trace = $1 ORDER BY key"),
            params![trace],
        )
        .await?;
    let mut reviews = Vec::new();
    for found in &rows {
        reviews.push(row::past_review(found)?);
    }
    Ok(reviews)
}

pub(super) async fn insert(
    db: &Db<'_>,
    trace: i64,
    reviews: &[ArchivedReview],
) -> Result<(), Fault> {
    for past in reviews {
        let review = past.review.as_ref();
        let overruled = review.and_then(|review| review.overruled.as_ref());
        let reflection = review.and_then(|review| review.reflection.as_ref());
        let learned = review.and_then(|review| review.learned.as_ref());
        let generation = review.map_or(0, |review| row::stored_count(review.generation));
        db.execute(
            "INSERT INTO past_review (trace, key_id, reviewer_model, created_at, id, verdict, \
             feedback, alpha, reflection, mode, overruled_model, overruled_verdict, \
             memory_id, learned, generation) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, \
             $11, $12, $13, $14, $15)",
            params![
                trace,
                past.key_id.as_ref().map(KeyId::as_str),
                Reviewer::model_name(&past.reviewer),
                past.created_at,
                review.map(|review| &review.id),
                review.map(|review| review.result.as_str()),
                review.and_then(|review| review.feedback_text.as_ref()),
                review.map(|review| review.alpha),
                reflection.map(row::to_json).transpose()?,
                review.map(|review| review.mode.as_str()),
                overruled.map(|verdict| &verdict.model),
                overruled.map(|verdict| verdict.result.as_str()),
                review
                    .and_then(|review| review.memory_id.as_ref())
                    .map(MemoryId::as_str),
                learned.map(row::to_json).transpose()?,
                generation
            ],
        )
        .await?;
    }
    Ok(())
}
