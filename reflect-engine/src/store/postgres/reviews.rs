//! The rows that a review's decision writes.

use futures_util::future::try_join_all;
use reflect_types::{KeyId, MemoryId};

use super::fault::Fault;
use super::sql::Db;
use super::standings::TraceRow;
use super::value::params;
use super::{jobs, memories, past_reviews, row};
use crate::clock;
use crate::review::{
    EventWrite, JobWrite, MemoryWrite, NewReview, PastWrite, ReviewWrite, TraceState, UtilityWrite,
    Writes,
};
use crate::store::{JobKind, MemoryKey};

/// Writes what was decided about a trace.
pub(super) async fn write(db: &Db<'_>, row: &TraceRow, changes: &Writes) -> Result<(), Fault> {
    match &changes.past {
        PastWrite::Keep => {}
        PastWrite::Replaced => past_reviews::keep(db, row.key).await?,
        PastWrite::Withdrawn(withdrawal) => {
            past_reviews::keep(db, row.key).await?;
            past_reviews::keep_withdrawal(db, row.key, withdrawal).await?;
        }
    }
    // Sent without waiting for each other, where none reads what another one writes.
    let utilities = try_join_all(
        (changes.utilities.iter())
            .map(|utility| write_utility(db, row.project, row.id.as_str(), utility)),
    );
    let of_trace = Box::pin(async {
        tokio::try_join!(
            write_review(db, row.key, &changes.review),
            write_job(db, row.key, &changes.job),
            end_judgement(db, row.key, changes.ends_judgement),
            write_trace(db, row.key, &changes.trace),
        )
    });
    match &changes.memory {
        MemoryWrite::Keep => {
            tokio::try_join!(utilities, of_trace)?;
        }
        MemoryWrite::Insert {
            memory,
            success,
            alpha,
            teacher,
        } => {
            let insert = Box::pin(memories::insert(
                db,
                row.project,
                row.key,
                memory,
                *success,
                *alpha,
                teacher,
            ));
            tokio::try_join!(utilities, insert, of_trace)?;
        }
        MemoryWrite::Rewrite {
            key,
            memory,
            success,
            alpha,
            teacher,
        } => {
            utilities.await?;
            Box::pin(memories::rewrite(
                db,
                row.project,
                *key,
                memory,
                *success,
                *alpha,
                teacher,
            ))
            .await?;
            of_trace.await?;
        }
        MemoryWrite::Withdraw(id) => {
            utilities.await?;
            Box::pin(memories::withdraw(db, row.project, id)).await?;
            of_trace.await?;
        }
    }
    Ok(())
}

async fn write_review(db: &Db<'_>, trace: i64, review: &ReviewWrite) -> Result<(), Fault> {
    match review {
        ReviewWrite::Keep => Ok(()),
        ReviewWrite::Put(review) => put(db, trace, review).await,
        ReviewWrite::Remove => {
            let remove = "DELETE FROM review WHERE trace = $1";
            db.execute(remove, params![trace]).await.map(drop)
        }
    }
}

async fn write_job(db: &Db<'_>, trace: i64, job: &JobWrite) -> Result<(), Fault> {
    match job {
        JobWrite::Keep => Ok(()),
        JobWrite::Queue { due, attempts } => {
            jobs::put(db, JobKind::Reflection, trace, Some(*due), *attempts).await
        }
        JobWrite::Remove => remove_job(db, trace, JobKind::Reflection).await,
    }
}

async fn end_judgement(db: &Db<'_>, trace: i64, ends: bool) -> Result<(), Fault> {
    if ends {
        remove_job(db, trace, JobKind::Judgement).await?;
    }
    Ok(())
}

async fn remove_job(db: &Db<'_>, trace: i64, kind: JobKind) -> Result<(), Fault> {
    let remove = "DELETE FROM queue WHERE trace = $1 AND kind = $2";
    db.execute(remove, params![trace, kind.as_str()])
        .await
        .map(drop)
}

pub(super) async fn write_trace(db: &Db<'_>, key: i64, trace: &TraceState) -> Result<(), Fault> {
    db.execute(
        "UPDATE trace SET reviewed = $2, ingest_status = $3, ingest_attempts = $4, \
             last_ingest_error = $5, created_memory = $6, ignored = $7, withdrawn_model = $8, \
             withdrawn_verdict = $9 WHERE key = $1",
        params![
            key,
            trace.reviewed,
            trace.ingest_status.as_str(),
            trace.ingest_attempts,
            trace.last_ingest_error,
            trace.created_memory.as_ref().map(MemoryId::as_str),
            row::to_json(&trace.ignored)?,
            trace
                .withdrawn_verdict
                .as_ref()
                .map(|verdict| &verdict.model),
            trace
                .withdrawn_verdict
                .as_ref()
                .map(|verdict| verdict.result.as_str())
        ],
    )
    .await?;
    Ok(())
}

/// Writes the utility of a memory; new events are of this trace.
pub(super) async fn write_utility(
    db: &Db<'_>,
    project: i64,
    trace: &str,
    write: &UtilityWrite,
) -> Result<(), Fault> {
    let events = write.events.iter();
    let events = events.map(|event| write_event(db, write.memory, trace, event));
    let set = memories::set_utility(db, project, write.memory, write.q, write.uses);
    tokio::try_join!(try_join_all(events), set)?;
    Ok(())
}

async fn write_event(
    db: &Db<'_>,
    memory: MemoryKey,
    trace: &str,
    event: &EventWrite,
) -> Result<(), Fault> {
    match event {
        EventWrite::Append(event) => {
            db.execute(
                "INSERT INTO utility_event (memory, trace_id, review_id, alpha, reward, before, \
                     after, created_at, key_id, reviewer_model) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                params![
                    memory,
                    trace,
                    event.review_id,
                    event.change.alpha,
                    event.change.reward,
                    event.step.before,
                    event.step.after,
                    clock::text(event.created_at),
                    event.teacher.key_id.as_ref().map(KeyId::as_str),
                    event.teacher.reviewer.model_name(),
                ],
            )
            .await?;
        }
        EventWrite::Update {
            key,
            change,
            step,
            teacher,
        } => {
            if let Some(teacher) = teacher {
                db.execute(
                    "UPDATE utility_event SET key_id = $2, reviewer_model = $3 WHERE key = $1",
                    params![
                        key,
                        teacher.key_id.as_ref().map(KeyId::as_str),
                        teacher.reviewer.model_name(),
                    ],
                )
                .await?;
            }
            db.execute(
                "UPDATE utility_event SET alpha = $2, reward = $3, before = $4, after = $5, \
                     aside = false WHERE key = $1",
                params![key, change.alpha, change.reward, step.before, step.after],
            )
            .await?;
        }
        EventWrite::SetAside(key) => {
            let set_aside = "UPDATE utility_event SET aside = true WHERE key = $1";
            db.execute(set_aside, params![key]).await?;
        }
        EventWrite::Remove(key) => {
            let remove = "DELETE FROM utility_event WHERE key = $1";
            db.execute(remove, params![key]).await?;
        }
    }
    Ok(())
}

/// Inserts a review, or replaces the one the trace has.
pub(super) async fn put(db: &Db<'_>, trace: i64, review: &NewReview) -> Result<(), Fault> {
    let reflection = review.reflection.as_ref().map(row::to_json).transpose()?;
    db.execute(
        "INSERT INTO review (trace, id, verdict, feedback, alpha, reflection, mode, \
             created_at, reviewer_model, key_id, overruled_model, overruled_verdict) VALUES \
             ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT (trace) DO \
             UPDATE SET id = excluded.id, verdict = excluded.verdict, feedback = \
             excluded.feedback, alpha = excluded.alpha, reflection = excluded.reflection, \
             mode = excluded.mode, created_at = excluded.created_at, reviewer_model = \
             excluded.reviewer_model, key_id = excluded.key_id, overruled_model = \
             excluded.overruled_model, overruled_verdict = excluded.overruled_verdict",
        params![
            trace,
            review.id,
            review.verdict.as_str(),
            review.feedback,
            review.alpha,
            reflection,
            review.mode.as_str(),
            clock::text(review.created_at),
            review.reviewer.model_name(),
            review.key_id.as_ref().map(KeyId::as_str),
            review.overruled.as_ref().map(|verdict| &verdict.model),
            review
                .overruled
                .as_ref()
                .map(|verdict| verdict.result.as_str())
        ],
    )
    .await?;
    Ok(())
}
