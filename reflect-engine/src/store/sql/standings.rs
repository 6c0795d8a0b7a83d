//! The rows that decisions about reviews read.

use std::collections::{BTreeSet, HashMap, HashSet};

use reflect_types::{MemoryId, TraceId};

use super::db::Db;
use super::fault::Fault;
use super::row::Row;
use super::traces::CURRENT;
use super::value::params;
use super::{events, undone};
use crate::review::{
    AffectedMemories, JobState, MovedMemory, ReviewContext, ReviewVersion, ShownMemory, TraceState,
    Utility,
};
use crate::store::MemoryKey;

/// A trace and what stands about it.
#[derive(Clone)]
pub(super) struct Found {
    pub(super) trace: i64,
    pub(super) standing: ReviewContext,
}

/// The traces of these ids that there are.
pub(super) async fn load(
    db: &Db<'_>,
    project: i64,
    ids: &[&TraceId],
) -> Result<HashMap<TraceId, Found>, Fault> {
    let names: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
    if db.dialect().locks_rows {
        // A worker that claims a job of one of them meanwhile passes it over.
        let lock = "SELECT j.key FROM queue j JOIN trace t ON t.project = j.project AND t.key = j.trace \
             WHERE t.project = $1 AND t.id = ANY($2) FOR UPDATE OF j";
        db.query(lock, &params![project, names]).await?;
    }
    let select = format!(
        "SELECT t.id AS trace_id, t.key, t.retrieved, t.reviewed, t.ingest_status, \
             CASE WHEN j.owner IS NULL THEN t.ingest_attempts ELSE j.attempts END AS ingest_attempts, \
             t.last_ingest_error, t.created_memory, t.ignored, t.withdrawn_model, t.withdrawn_verdict, \
             r.id, r.verdict, r.feedback, r.reviewer, r.overruled_model, r.overruled_verdict, \
             j.key IS NOT NULL AS has_job, j.owner, m.key AS memory \
         FROM trace t {CURRENT} \
             LEFT JOIN queue j ON j.project = t.project AND j.trace = t.key AND j.kind = 'reflection' \
             LEFT JOIN memory m ON m.project = t.project AND m.id = t.created_memory \
         WHERE t.project = $1 AND t.id = ANY($2)"
    );
    let rows = db.query(&select, &params![project, names]).await?;
    let mut retrieved = HashMap::new();
    for row in &rows {
        retrieved.insert(
            row.get::<i64>("key")?,
            row.json::<Vec<MemoryId>>("retrieved")?,
        );
    }
    let given = utilities(db, project, retrieved.values().flatten()).await?;
    let reviews = rows.iter().filter_map(|row| reviewed(row).transpose());
    let reviews: Vec<String> = reviews.collect::<Result<_, _>>()?;
    let mut moved = moved(db, project, &reviews).await?;
    let undone = undone::all(db, project).await?;
    let mut found = HashMap::new();
    for row in &rows {
        let (id, trace): (TraceId, i64) = (row.get("trace_id")?, row.get("key")?);
        let memories = if let Some(review) = reviewed(row)? {
            AffectedMemories::Moved(moved.remove(&review).unwrap_or_default())
        } else {
            let ids = retrieved.remove(&trace).unwrap_or_default();
            AffectedMemories::Shown(with_utilities(&ids, &given))
        };
        let of_trace = undone.iter().filter(|undo| undone::is_of(undo, &id));
        let undone = of_trace.cloned().collect();
        let standing = standing(row, memories, undone)?;
        found.insert(id, Found { trace, standing });
    }
    Ok(found)
}

/// The review of a trace that may have moved memories. One without a memory taught nothing.
fn reviewed(row: &Row) -> Result<Option<String>, Fault> {
    match row.get::<Option<String>>("created_memory")? {
        Some(_) if row.get("reviewed")? => row.get("id"),
        _ => Ok(None),
    }
}

fn standing(
    row: &Row,
    memories: AffectedMemories,
    undone: Vec<crate::review::PastUndo>,
) -> Result<ReviewContext, Fault> {
    let review = match row.get("id")? {
        Some(id) => Some(ReviewVersion {
            id,
            verdict: row.get("verdict")?,
            feedback: row.get("feedback")?,
            reviewer: row.reviewer()?,
            overruled: row.model_verdict("overruled_model", "overruled_verdict")?,
        }),
        None => None,
    };
    let job = if row.get("has_job")? {
        Some(JobState {
            owner: row.get("owner")?,
        })
    } else {
        None
    };
    Ok(ReviewContext {
        trace: TraceState {
            reviewed: row.get("reviewed")?,
            ingest_status: row.get("ingest_status")?,
            ingest_attempts: row.get("ingest_attempts")?,
            last_ingest_error: row.get("last_ingest_error")?,
            created_memory: row.get("created_memory")?,
            ignored: row.json("ignored")?,
            withdrawn_verdict: row.model_verdict("withdrawn_model", "withdrawn_verdict")?,
        },
        review,
        job,
        memory: row.get("memory")?,
        memories,
        undone,
    })
}

/// The memories that a trace was given, each once, with their utilities.
pub(super) async fn given(
    db: &Db<'_>,
    project: i64,
    ids: &[MemoryId],
) -> Result<Vec<ShownMemory>, Fault> {
    let known = utilities(db, project, ids.iter()).await?;
    Ok(with_utilities(ids, &known))
}

fn with_utilities(ids: &[MemoryId], known: &HashMap<MemoryId, Utility>) -> Vec<ShownMemory> {
    let mut seen = HashSet::new();
    let once = ids.iter().filter(|id| seen.insert(*id));
    let given = once.map(|id| ShownMemory {
        id: id.clone(),
        utility: known.get(id).copied(),
    });
    given.collect()
}

async fn utilities(
    db: &Db<'_>,
    project: i64,
    ids: impl Iterator<Item = &MemoryId>,
) -> Result<HashMap<MemoryId, Utility>, Fault> {
    let names: BTreeSet<&str> = ids.map(MemoryId::as_str).collect();
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    let select = "SELECT id, key, q, uses, status = 'withdrawn' AS withdrawn FROM memory \
         WHERE project = $1 AND id = ANY($2)";
    let rows = db
        .query(select, &params![project, Vec::from_iter(names)])
        .await?;
    let utilities = rows.iter().map(|row| {
        let utility = Utility {
            memory: row.get("key")?,
            q: row.get("q")?,
            uses: row.get("uses")?,
            withdrawn: row.get("withdrawn")?,
        };
        Ok((row.get("id")?, utility))
    });
    utilities.collect()
}

/// The project's memories with an event of these reviews that counts, by the review. Other projects may have the same
/// reviews: an import keeps the ids.
async fn moved(
    db: &Db<'_>,
    project: i64,
    reviews: &[String],
) -> Result<HashMap<String, Vec<MovedMemory>>, Fault> {
    if reviews.is_empty() {
        return Ok(HashMap::new());
    }
    let names: Vec<&str> = reviews.iter().map(String::as_str).collect();
    let select = "SELECT DISTINCT review_id, memory FROM utility_event \
         WHERE project = $1 AND review_id = ANY($2) AND NOT void ORDER BY review_id, memory";
    let rows = db.query(select, &params![project, names]).await?;
    let keys: BTreeSet<MemoryKey> = rows
        .iter()
        .map(|row| row.get("memory"))
        .collect::<Result<_, _>>()?;
    let events = events::taught(db, project, &Vec::from_iter(keys)).await?;
    let mut moved = HashMap::<String, Vec<MovedMemory>>::new();
    for row in &rows {
        let memory = row.get("memory")?;
        let events = events.get(&memory).into_iter().flatten();
        let events = events.map(|taught| taught.event.clone()).collect();
        let of_review = moved.entry(row.get("review_id")?).or_default();
        of_review.push(MovedMemory { memory, events });
    }
    Ok(moved)
}
