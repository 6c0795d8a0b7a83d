//! Reviews that no longer stand.

use std::collections::HashMap;

use reflect_types::{ArchivedReview, ReplacedReview, TraceId};

use super::db::Db;
use super::fault::Fault;
use super::row::{Row, to_json};
use super::value::{Rows, params};
use crate::review::{
    GivenReview, LearnedText, PastReview, PastState, ReviewHistory, Selection, Withdrawal,
};

/// Makes the reviews of traces past ones, with what was learned from each, without edits. The memory holds its content
/// only when the work on it is done. A memory that was deleted since is named, without content.
pub(super) async fn keep(db: &Db<'_>, project: i64, traces: &[i64]) -> Result<(), Fault> {
    if traces.is_empty() {
        return Ok(());
    }
    let of_trace = "FROM trace t LEFT JOIN memory m ON m.project = t.project AND m.id = t.created_memory \
         WHERE t.project = review.project AND t.key = review.trace AND t.reviewed \
             AND t.ingest_status = 'completed'";
    let keep = format!(
        "UPDATE review SET state = 'past', memory_id = (SELECT t.created_memory {of_trace}), \
             learned = (SELECT coalesce((SELECT c.before FROM memory_change c \
                 WHERE c.project = m.project AND c.memory_id = m.id AND c.kind = 'edited' AND NOT c.closed \
                     AND c.generation >= m.generation ORDER BY c.key LIMIT 1), m.reflection) {of_trace}), \
             generation = coalesce((SELECT m.generation {of_trace}), 0) \
         WHERE project = $1 AND trace = ANY($2) AND state = 'current'"
    );
    db.execute(&keep, &params![project, traces]).await.map(drop)
}

/// Appends withdrawals to the histories of traces.
pub(super) async fn keep_withdrawals(
    db: &Db<'_>,
    project: i64,
    withdrawals: &[(i64, &Withdrawal)],
) -> Result<(), Fault> {
    for (trace, by) in withdrawals {
        let keep = "INSERT INTO review (project, trace, state, key_id, created_at) \
             VALUES ($1, $2, 'past', $3, $4)";
        db.execute(keep, &params![project, trace, by.key_id, by.at])
            .await?;
    }
    Ok(())
}

/// Keeps the reviews of a trace that is about to be deleted, without their texts.
pub(super) async fn keep_of_deleted(
    db: &Db<'_>,
    project: i64,
    trace: i64,
    id: &TraceId,
) -> Result<(), Fault> {
    let keep = "UPDATE review SET deleted_trace = $3, feedback = NULL, reflection = NULL, \
             memory_id = CASE WHEN state = 'past' THEN memory_id ELSE (SELECT t.created_memory FROM trace t \
                 WHERE t.project = $1 AND t.key = $2 AND t.ingest_status = 'completed') END, \
             state = CASE WHEN state = 'past' THEN 'past' ELSE 'last' END \
         WHERE project = $1 AND trace = $2";
    db.execute(keep, &params![project, trace, id])
        .await
        .map(drop)
}

/// The past reviews of traces, oldest first, for an archive.
pub(super) async fn archived(
    db: &Db<'_>,
    project: i64,
    traces: &[i64],
) -> Result<HashMap<i64, Vec<ArchivedReview>>, Fault> {
    let select = "SELECT trace, key_id, reviewer, created_at, id, verdict, feedback, alpha, reflection, \
             mode, overruled_model, overruled_verdict, memory_id, learned, generation \
         FROM review WHERE project = $1 AND trace = ANY($2) AND state = 'past' ORDER BY key";
    let rows = db.query(select, &params![project, traces]).await?;
    let mut reviews = HashMap::<_, Vec<_>>::new();
    for row in &rows {
        let of_trace = reviews.entry(row.get("trace")?).or_default();
        of_trace.push(archived_review(row)?);
    }
    Ok(reviews)
}

fn archived_review(row: &Row) -> Result<ArchivedReview, Fault> {
    let review = match row.get("id")? {
        Some(id) => Some(ReplacedReview {
            id,
            result: row.get("verdict")?,
            feedback_text: row.get("feedback")?,
            alpha: row.get("alpha")?,
            reflection: row.optional_json("reflection")?,
            mode: row.get("mode")?,
            overruled: row.model_verdict("overruled_model", "overruled_verdict")?,
            memory_id: row.get("memory_id")?,
            learned: row.optional_json("learned")?,
            generation: row.get("generation")?,
        }),
        None => None,
    };
    Ok(ArchivedReview {
        key_id: row.get("key_id")?,
        reviewer: row.reviewer()?,
        created_at: row.get("created_at")?,
        review,
    })
}

/// Inserts the past reviews of an archived trace.
pub(super) async fn insert(
    db: &Db<'_>,
    project: i64,
    trace: i64,
    reviews: &[ArchivedReview],
) -> Result<(), Fault> {
    let json = reviews.iter().map(|past| {
        let review = past.review.as_ref();
        let reflection = review.and_then(|review| review.reflection.as_ref());
        let learned = review.and_then(|review| review.learned.as_ref());
        Ok((
            reflection.map(to_json).transpose()?,
            learned.map(to_json).transpose()?,
        ))
    });
    let json: Vec<(Option<String>, Option<String>)> = json.collect::<Result<_, Fault>>()?;
    let mut rows = Rows::new(
        "project bigint, trace bigint, state text, key_id text, reviewer text, \
             created_at text, id text, verdict text, feedback text, alpha float8, reflection text, \
             mode text, overruled_model text, overruled_verdict text, memory_id text, learned text, \
             generation bigint",
    );
    for (past, (reflection, learned)) in reviews.iter().zip(&json) {
        let review = past.review.as_ref();
        let overruled = review.and_then(|review| review.overruled.as_ref());
        let generation = review.map_or(0, |review| review.generation);
        rows.push(params![
            project,
            trace,
            "past",
            past.key_id,
            past.reviewer,
            past.created_at,
            review.map(|review| &review.id),
            review.map(|review| &review.result),
            review.and_then(|review| review.feedback_text.as_ref()),
            review.map(|review| review.alpha),
            reflection,
            review.map(|review| &review.mode),
            overruled.map(|by| &by.model),
            overruled.map(|by| &by.result),
            review.and_then(|review| review.memory_id.as_ref()),
            learned,
            generation,
        ]);
    }
    db.insert("review", &rows).await
}

/// The histories of traces that a selection may cover, also of deleted ones.
pub(super) async fn histories(
    db: &Db<'_>,
    project: i64,
    selection: &Selection,
) -> Result<Vec<ReviewHistory>, Fault> {
    // Deleted ones come last.
    let rows = db
        .query(
            "SELECT r.key, r.trace, coalesce(r.deleted_trace, t.id) AS trace_id, \
                 r.deleted_trace IS NOT NULL AS deleted, r.state = 'past' AS is_past, r.key_id, \
                 r.reviewer, r.created_at, r.id, r.verdict, r.alpha, r.overruled_model, \
                 r.overruled_verdict, CASE WHEN r.state <> 'current' THEN r.memory_id \
                     WHEN t.ingest_status = 'completed' THEN t.created_memory END AS memory_id, \
                 r.generation, r.learned \
             FROM review r LEFT JOIN trace t ON t.project = r.project AND t.key = r.trace \
             WHERE r.project = $1 AND r.trace IN (SELECT o.trace FROM review o \
                     WHERE o.project = $1 AND ($2::text IS NULL OR o.key_id = $2)) \
                 AND ($3::text IS NULL OR coalesce(r.deleted_trace, t.id) = $3) \
             ORDER BY 4, r.trace, r.key",
            &params![project, selection.key_id, selection.trace_id],
        )
        .await?;
    let mut histories: Vec<ReviewHistory> = Vec::new();
    for row in &rows {
        let trace: i64 = row.get("trace")?;
        if histories.last().is_none_or(|last| last.trace != trace) {
            histories.push(ReviewHistory {
                trace,
                trace_id: row.get("trace_id")?,
                deleted: row.get("deleted")?,
                past: Vec::new(),
                current: None,
            });
        }
        let Some(history) = histories.last_mut() else {
            continue;
        };
        let given = given(row)?;
        if row.get("is_past")? {
            let learned = row.optional_json("learned")?;
            let generation = row.get("generation")?;
            history.past.push(PastState {
                key: row.get("key")?,
                given,
                learned: learned.map(|reflection| LearnedText {
                    reflection,
                    generation,
                }),
            });
        } else {
            history.current = Some(given);
        }
    }
    Ok(histories)
}

fn given(row: &Row) -> Result<GivenReview, Fault> {
    let review = match row.get("id")? {
        Some(id) => Some(PastReview {
            id,
            verdict: row.get("verdict")?,
            alpha: row.get("alpha")?,
            overruled: row.model_verdict("overruled_model", "overruled_verdict")?,
            memory: row.get("memory_id")?,
        }),
        None => None,
    };
    Ok(GivenReview {
        teacher: row.teacher()?,
        at: row.get("created_at")?,
        review,
    })
}
