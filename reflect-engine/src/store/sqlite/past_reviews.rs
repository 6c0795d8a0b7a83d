//! Reviews that no longer stand, in archives.

use reflect_types::{ArchivedReview, KeyId, MemoryId, Reviewer};
use rusqlite::{Connection, named_params};

use super::fault::Fault;
use super::row::{self, PAST_REVIEW};

/// The past reviews of a trace, oldest first.
pub(super) fn of_trace(db: &Connection, trace: i64) -> Result<Vec<ArchivedReview>, Fault> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {PAST_REVIEW} FROM past_review WHERE trace = ?1 ORDER BY key"
    ))?;
    let mut rows = select.query([trace])?;
    let mut reviews = Vec::new();
    while let Some(found) = rows.next()? {
        reviews.push(row::past_review(found)?);
    }
    Ok(reviews)
}

pub(super) fn insert(db: &Connection, trace: i64, reviews: &[ArchivedReview]) -> Result<(), Fault> {
    for past in reviews {
        let review = past.review.as_ref();
        let overruled = review.and_then(|review| review.overruled.as_ref());
        let reflection = review.and_then(|review| review.reflection.as_ref());
        let learned = review.and_then(|review| review.learned.as_ref());
        let generation = review.map_or(0, |review| row::stored_count(review.generation));
        db.prepare_cached(
            "INSERT INTO past_review (trace, key_id, reviewer_model, created_at, id, verdict, \
                 feedback, alpha, reflection, mode, overruled_model, overruled_verdict, memory_id, \
                 learned, generation) \
             VALUES (:trace, :key_id, :reviewer_model, :created_at, :id, :verdict, :feedback, \
                 :alpha, :reflection, :mode, :overruled_model, :overruled_verdict, :memory_id, \
                 :learned, :generation)",
        )?
        .execute(named_params! {
            ":trace": trace,
            ":key_id": past.key_id.as_ref().map(KeyId::as_str),
            ":reviewer_model": Reviewer::model_name(&past.reviewer),
            ":created_at": past.created_at,
            ":id": review.map(|review| &review.id),
            ":verdict": review.map(|review| review.result.as_str()),
            ":feedback": review.and_then(|review| review.feedback_text.as_ref()),
            ":alpha": review.map(|review| review.alpha),
            ":reflection": reflection.map(row::to_json).transpose()?,
            ":mode": review.map(|review| review.mode.as_str()),
            ":overruled_model": overruled.map(|verdict| &verdict.model),
            ":overruled_verdict": overruled.map(|verdict| verdict.result.as_str()),
            ":memory_id": review.and_then(|review| review.memory_id.as_ref()).map(MemoryId::as_str),
            ":learned": learned.map(row::to_json).transpose()?,
            ":generation": generation,
        })?;
    }
    Ok(())
}
