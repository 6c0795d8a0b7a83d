//! Reviews as rows.

use reflect_types::{ArchivedReview, Judgement, ReplacedReview, TraceId};

use super::{
    Row, count, key_id, memory_id, model_verdict, name, optional, optional_json, optional_time,
    owned, reviewer, teacher, time, verdict,
};
use crate::review::{GivenReview, NewReview, PastReview, PastUndo, Selection};

/// The columns of [`review`], from `review r`.
pub(in crate::store) const REVIEW: &str = "r.id, r.verdict, r.feedback, r.alpha, r.reflection, r.mode, r.created_at, r.reviewer_model, \
     r.key_id, r.overruled_model, r.overruled_verdict";

pub(in crate::store) fn review<R: Row>(row: &R) -> Result<NewReview, R::Fault> {
    Ok(NewReview {
        id: owned(row, 0)?,
        verdict: verdict(row, 1)?,
        feedback: optional(row, 2)?,
        alpha: row.real(3)?,
        reflection: optional_json(row, 4)?,
        mode: name(row, 5)?,
        reviewer: reviewer(row, 7)?,
        key_id: key_id(row, 8)?,
        overruled: model_verdict(row, 9)?,
        created_at: time(row, 6)?,
    })
}

/// A review, or a withdrawal, in the columns of `key_id, reviewer_model, created_at, id, verdict,
/// alpha, overruled_model, overruled_verdict` and its memory.
pub(in crate::store) fn given_review<R: Row>(
    row: &R,
    column: usize,
) -> Result<GivenReview, R::Fault> {
    let review = match optional(row, column + 3)? {
        Some(id) => Some(PastReview {
            id,
            verdict: verdict(row, column + 4)?,
            alpha: row.real(column + 5)?,
            overruled: model_verdict(row, column + 6)?,
            memory: memory_id(row, column + 8)?,
        }),
        None => None,
    };
    Ok(GivenReview {
        teacher: teacher(row, column)?,
        at: time(row, column + 2)?,
        review,
    })
}

/// The columns of [`past_review`], from `past_review`.
pub(in crate::store) const PAST_REVIEW: &str = "key_id, reviewer_model, created_at, id, verdict, feedback, alpha, reflection, mode, \
     overruled_model, overruled_verdict, memory_id, learned, generation";

pub(in crate::store) fn past_review<R: Row>(row: &R) -> Result<ArchivedReview, R::Fault> {
    let review = match optional(row, 3)? {
        Some(id) => Some(ReplacedReview {
            id,
            result: verdict(row, 4)?,
            feedback_text: optional(row, 5)?,
            alpha: row.real(6)?,
            reflection: optional_json(row, 7)?,
            mode: name(row, 8)?,
            overruled: model_verdict(row, 9)?,
            memory_id: memory_id(row, 11)?,
            learned: optional_json(row, 12)?,
            generation: count(row, 13)?,
        }),
        None => None,
    };
    Ok(ArchivedReview {
        key_id: key_id(row, 0)?,
        reviewer: reviewer(row, 1)?,
        created_at: owned(row, 2)?,
        review,
    })
}

/// The columns of [`past_undo`], from `undone`.
pub(in crate::store) const PAST_UNDO: &str = "undone_at, key_id, reviewer, trace_id, since, until";

pub(in crate::store) fn past_undo<R: Row>(row: &R) -> Result<PastUndo, R::Fault> {
    Ok(PastUndo {
        at: time(row, 0)?,
        selection: Selection {
            key_id: key_id(row, 1)?,
            reviewer: optional_json(row, 2)?,
            trace_id: optional(row, 3)?.map(TraceId::new),
            since: optional_time(row, 4)?,
            until: optional_time(row, 5)?,
        },
    })
}

/// What an archive holds of a review's judgement, in the columns of `alpha, reflection, created_at`.
pub(in crate::store) fn judgement<R: Row>(
    row: &R,
    column: usize,
) -> Result<Option<Judgement>, R::Fault> {
    let Some(alpha) = row.optional_real(column)? else {
        return Ok(None);
    };
    Ok(Some(Judgement {
        alpha,
        reflection: optional_json(row, column + 1)?,
        created_at: owned(row, column + 2)?,
    }))
}
