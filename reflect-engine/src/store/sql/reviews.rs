//! Decisions about reviews: what they read, decided one after the other, and what they write, together.

use std::collections::{HashMap, HashSet};

use reflect_types::TraceId;

use super::db::Db;
use super::fault::Fault;
use super::row::to_json;
use super::standings::{self, Found};
use super::value::{Rows, params};
use super::{jobs, memory_writes, past_reviews, utilities};
use crate::review::{
    self, Action, AffectedMemories, Decision, JobWrite, MemoryWrite, NewReview, PastWrite,
    ReviewWrite, TraceState, Writes,
};
use crate::store::{JobKind, MemoryKey};

/// What was decided about a trace.
pub(super) struct Decided<'a> {
    pub(super) trace: i64,
    pub(super) id: &'a TraceId,
    pub(super) writes: Writes,
}

/// Changes reviews of a project, each as if it came after those before it.
pub(super) async fn change(
    db: &Db<'_>,
    project: Option<i64>,
    changes: &[(&TraceId, &Action)],
) -> Result<Vec<Decision>, Fault> {
    let ids: Vec<&TraceId> = changes.iter().map(|(id, _)| *id).collect();
    let found = match project {
        Some(project) => standings::load(db, project, &ids).await?,
        None => HashMap::new(),
    };
    let mut overlay = Overlay::default();
    let mut decisions = Vec::with_capacity(changes.len());
    for &(id, action) in changes {
        let known = match (found.get(id), project) {
            (Some(read), _) if overlay.covers(read) => Some(overlay.on(read.clone())),
            // What this one depends on has changed: it is written, and read again.
            (Some(_), Some(project)) => {
                write(db, project, &std::mem::take(&mut overlay.writes)).await?;
                standings::load(db, project, &[id]).await?.remove(id)
            }
            _ => None,
        };
        let trace = known.as_ref().map(|found| found.trace);
        let standing = known.map(|found| found.standing);
        decisions.push(match (review::decide(standing, action.clone()), trace) {
            (Ok(writes), Some(trace)) => {
                overlay.add(Decided { trace, id, writes });
                Ok(())
            }
            (Ok(_), None) => Ok(()),
            (Err(refusal), _) => Err(refusal),
        });
    }
    if let Some(project) = project {
        write(db, project, &overlay.writes).await?;
    }
    Ok(decisions)
}

/// What was decided since the reviews were read, and what of it is not written yet.
#[derive(Default)]
struct Overlay<'a> {
    writes: Vec<Decided<'a>>,
    traces: HashSet<i64>,
    /// The utilities and uses of memories.
    utilities: HashMap<MemoryKey, (f64, u64)>,
    /// Whether a review was replaced or withdrawn, which changes more than its own trace and utilities.
    is_more: bool,
}

impl<'a> Overlay<'a> {
    /// Whether what was read is known as it is now.
    fn covers(&self, found: &Found) -> bool {
        let is_moved = match &found.standing.memories {
            AffectedMemories::Shown(_) => false,
            AffectedMemories::Moved(moved) => {
                let is_written = |memory| self.utilities.contains_key(memory);
                moved.iter().any(|moved| is_written(&moved.memory))
            }
        };
        !self.is_more && !is_moved && !self.traces.contains(&found.trace)
    }

    /// What was read, as it is now.
    fn on(&self, mut found: Found) -> Found {
        if let AffectedMemories::Shown(given) = &mut found.standing.memories {
            let utilities = given.iter_mut().filter_map(|given| given.utility.as_mut());
            for utility in utilities {
                if let Some(&(q, uses)) = self.utilities.get(&utility.memory) {
                    (utility.q, utility.uses) = (q, uses);
                }
            }
        }
        found
    }

    fn add(&mut self, decided: Decided<'a>) {
        let writes = &decided.writes;
        self.traces.insert(decided.trace);
        let is_first = matches!(
            writes.memory,
            MemoryWrite::Keep | MemoryWrite::Insert { .. }
        );
        self.is_more |= !is_first || writes.past != PastWrite::Keep;
        let utilities = writes.utilities.iter();
        self.utilities
            .extend(utilities.map(|write| (write.memory, (write.q, write.uses))));
        self.writes.push(decided);
    }
}

/// Writes what was decided about traces. A row that several change has the last of these changes.
pub(super) async fn write(db: &Db<'_>, project: i64, decided: &[Decided<'_>]) -> Result<(), Fault> {
    if decided.is_empty() {
        return Ok(());
    }
    let mut replaced = Vec::new();
    let mut withdrawals = Vec::new();
    let (mut moved, mut memories) = (Vec::new(), Vec::new());
    let mut given = Vec::new();
    let mut ungiven = Vec::new();
    let mut queued = Vec::new();
    let (mut unqueued, mut judged) = (Vec::new(), Vec::new());
    let mut states = Vec::with_capacity(decided.len());
    for Decided { trace, id, writes } in decided {
        if writes.past != PastWrite::Keep {
            replaced.push(*trace);
        }
        if let PastWrite::Withdrawn(withdrawal) = &writes.past {
            withdrawals.push((*trace, withdrawal));
        }
        moved.extend(writes.utilities.iter().map(|write| (*id, write)));
        memories.push((*trace, &writes.memory));
        match &writes.review {
            ReviewWrite::Keep => {}
            ReviewWrite::Put(review) => given.push((*trace, review)),
            ReviewWrite::Remove => ungiven.push(*trace),
        }
        match writes.job {
            JobWrite::Keep => {}
            JobWrite::Queue { due, attempts } => {
                queued.push((JobKind::Reflection, *trace, Some(due), attempts));
            }
            JobWrite::Remove => unqueued.push(*trace),
        }
        if writes.ends_judgement {
            judged.push(*trace);
        }
        states.push((*trace, &writes.trace));
    }
    past_reviews::keep(db, project, &replaced).await?;
    past_reviews::keep_withdrawals(db, project, &withdrawals).await?;
    utilities::write(db, project, &moved).await?;
    memory_writes::write(db, project, &memories).await?;
    put(db, project, &given).await?;
    remove(db, project, &ungiven).await?;
    jobs::put(db, project, &queued).await?;
    jobs::remove(db, project, JobKind::Reflection, &unqueued).await?;
    jobs::remove(db, project, JobKind::Judgement, &judged).await?;
    write_traces(db, project, &states).await
}

async fn write_traces(
    db: &Db<'_>,
    project: i64,
    states: &[(i64, &TraceState)],
) -> Result<(), Fault> {
    let ignored: Vec<String> = states
        .iter()
        .map(|(_, state)| to_json(&state.ignored))
        .collect::<Result<_, _>>()?;
    let mut rows = Rows::new(
        "project bigint, key bigint, reviewed boolean, ingest_status text, ingest_attempts bigint, \
             last_ingest_error text, created_memory text, ignored text, withdrawn_model text, \
             withdrawn_verdict text",
    );
    for ((trace, state), ignored) in states.iter().zip(&ignored) {
        let withdrawn = state.withdrawn_verdict.as_ref();
        let (model, verdict) = (
            withdrawn.map(|by| &by.model),
            withdrawn.map(|by| &by.result),
        );
        rows.push(params![
            project,
            trace,
            state.reviewed,
            state.ingest_status,
            state.ingest_attempts,
            state.last_ingest_error,
            state.created_memory,
            ignored,
            model,
            verdict,
        ]);
    }
    db.update("trace", &rows).await
}

/// The columns of [`read`], from a review `r`.
pub(super) const REVIEW: &str = "r.id, r.verdict, r.feedback, r.alpha, r.reflection, r.mode, \
     r.created_at, r.reviewer, r.key_id, r.overruled_model, r.overruled_verdict";

pub(super) fn read(row: &super::row::Row) -> Result<NewReview, Fault> {
    Ok(NewReview {
        id: row.get("id")?,
        verdict: row.get("verdict")?,
        feedback: row.get("feedback")?,
        alpha: row.get("alpha")?,
        reflection: row.optional_json("reflection")?,
        mode: row.get("mode")?,
        reviewer: row.reviewer()?,
        key_id: row.get("key_id")?,
        overruled: row.model_verdict("overruled_model", "overruled_verdict")?,
        created_at: row.get("created_at")?,
    })
}

/// Inserts reviews of traces, or replaces those that they have.
pub(super) async fn put(
    db: &Db<'_>,
    project: i64,
    reviews: &[(i64, &NewReview)],
) -> Result<(), Fault> {
    let reflections: Vec<Option<String>> = reviews
        .iter()
        .map(|(_, review)| review.reflection.as_ref().map(to_json).transpose())
        .collect::<Result<_, _>>()?;
    let mut rows = Rows::new(
        "project bigint, trace bigint, state text, id text, verdict text, feedback text, \
             alpha float8, reflection text, mode text, created_at text, reviewer text, \
             key_id text, overruled_model text, overruled_verdict text",
    );
    for ((trace, review), reflection) in reviews.iter().zip(&reflections) {
        let overruled = review.overruled.as_ref();
        let (model, verdict) = (
            overruled.map(|by| &by.model),
            overruled.map(|by| &by.result),
        );
        rows.push(params![
            project,
            trace,
            "current",
            review.id,
            review.verdict,
            review.feedback,
            review.alpha,
            reflection,
            review.mode,
            review.created_at,
            review.reviewer,
            review.key_id,
            model,
            verdict,
        ]);
    }
    let current = "(project, trace) WHERE state = 'current'";
    db.insert_or_replace("review", &rows, current).await
}

/// Deletes the reviews of traces.
pub(super) async fn remove(db: &Db<'_>, project: i64, traces: &[i64]) -> Result<(), Fault> {
    if traces.is_empty() {
        return Ok(());
    }
    let remove = "DELETE FROM review WHERE project = $1 AND trace = ANY($2) AND state = 'current'";
    db.execute(remove, &params![project, traces])
        .await
        .map(drop)
}
