//! The rows that a review's decision reads.

use std::collections::{HashMap, HashSet};

use reflect_types::{MemoryId, ProjectId, TraceId};

use super::fault::Fault;
use super::sql::Db;
use super::value::params;
use super::{events, row, undone};
use crate::review::{
    AffectedMemories, GivenMemory, JobState, MovedMemory, ReviewVersion, Standing, TraceState,
    Utility,
};
use crate::store::MemoryKey;

/// Where a trace is stored.
pub(super) struct TraceRow {
    pub(super) key: i64,
    pub(super) project: i64,
    pub(super) id: TraceId,
}

/// The trace and what stands about it, if there is such a trace.
pub(super) async fn load(
    db: &Db<'_>,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<(TraceRow, Standing)>, Fault> {
    // A worker that claims the trace's job meanwhile passes it over.
    db.execute(
        "SELECT FROM queue j JOIN trace t ON t.key = j.trace JOIN project p ON p.key = \
             t.project WHERE t.id = $1 AND p.id = $2 FOR UPDATE OF j",
        params![id.as_str(), project.as_str()],
    )
    .await?;
    let rows = db
        .query(
            "SELECT t.key, t.project, t.retrieved, t.reviewed, t.ingest_status, CASE WHEN \
             j.owner IS NULL THEN t.ingest_attempts ELSE j.attempts END, t.last_ingest_error, \
             t.created_memory, t.ignored, t.withdrawn_model, t.withdrawn_verdict, r.id, \
             r.verdict, r.feedback, r.reviewer_model, r.overruled_model, r.overruled_verdict, \
             j.trace IS NOT NULL, j.owner, m.key FROM trace t JOIN project p ON p.key = \
             t.project LEFT JOIN review r ON r.trace = t.key LEFT JOIN queue j ON j.trace = \
             t.key AND j.kind = 'reflection' LEFT JOIN memory m ON m.project = t.project AND \
             m.id = t.created_memory WHERE t.id = $1 AND p.id = $2",
            params![id.as_str(), project.as_str()],
        )
        .await?;
    let Some(found) = rows.first() else {
        return Ok(None);
    };
    let row = TraceRow {
        key: found.get(0)?,
        project: found.get(1)?,
        id: id.clone(),
    };
    let trace = TraceState {
        reviewed: found.get(3)?,
        ingest_status: row::name(found, 4)?,
        ingest_attempts: found.get(5)?,
        last_ingest_error: found.get(6)?,
        created_memory: found.get::<Option<String>>(7)?.map(MemoryId::new),
        ignored: row::json(found, 8)?,
        withdrawn_verdict: row::model_verdict(found, 9)?,
    };
    let review = match found.get(11)? {
        Some(id) => Some(ReviewVersion {
            id,
            verdict: row::verdict(found, 12)?,
            feedback: found.get(13)?,
            reviewer: row::reviewer(found, 14)?,
            overruled: row::model_verdict(found, 15)?,
        }),
        None => None,
    };
    let job = if found.get(17)? {
        let owner = found.get(18)?;
        Some(JobState { owner })
    } else {
        None
    };
    let memories = match &review {
        Some(review) if trace.reviewed => {
            AffectedMemories::Moved(moved(db, row.project, &review.id).await?)
        }
        _ => AffectedMemories::Given(given(db, row.project, row::json(found, 2)?).await?),
    };
    let undone = undone::of_trace(db, row.project, id).await?;
    let standing = Standing {
        trace,
        review,
        job,
        memory: found.get(19)?,
        memories,
        undone,
    };
    Ok(Some((row, standing)))
}

/// The memories that a trace was given, each once, with their utilities.
pub(super) async fn given(
    db: &Db<'_>,
    project: i64,
    ids: Vec<MemoryId>,
) -> Result<Vec<GivenMemory>, Fault> {
    let mut seen = HashSet::new();
    let ids: Vec<MemoryId> = ids
        .into_iter()
        .filter(|id| seen.insert(id.clone()))
        .collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = ids.iter().map(|id| id.as_str().to_owned()).collect();
    let rows = db
        .query(
            "SELECT id, key, q, uses, status = 'withdrawn' FROM memory WHERE id = ANY($1) AND \
             project = $2",
            params![names.as_slice(), project],
        )
        .await?;
    let mut utilities = HashMap::new();
    for found in &rows {
        let utility = Utility {
            memory: found.get(1)?,
            q: found.get(2)?,
            uses: row::count(found, 3)?,
            withdrawn: found.get(4)?,
        };
        utilities.insert(found.get::<String>(0)?, utility);
    }
    let given = ids.into_iter().map(|id| GivenMemory {
        utility: utilities.remove(id.as_str()),
        id,
    });
    Ok(given.collect())
}

/// The project's memories with an event of this review. Other projects may have the same review:
/// an import keeps the ids.
async fn moved(db: &Db<'_>, project: i64, review: &str) -> Result<Vec<MovedMemory>, Fault> {
    let keys: Vec<MemoryKey> = db
        .column(
            "SELECT DISTINCT e.memory FROM utility_event e JOIN memory m ON m.key = e.memory \
             WHERE e.review_id = $1 AND NOT e.aside AND m.project = $2",
            params![review, project],
        )
        .await?;
    let mut moved = Vec::new();
    for memory in keys {
        let events = events::recorded(db, memory).await?;
        moved.push(MovedMemory { memory, events });
    }
    Ok(moved)
}
