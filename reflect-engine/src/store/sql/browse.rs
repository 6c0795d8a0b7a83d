//! Lists for people.

use std::collections::HashMap;

use async_trait::async_trait;
use reflect_types::{
    MemoryId, MemoryRecord, ModelVerdict, Page, ProjectId, Reviewer, TraceId, TraceOverview,
    TraceTree, Verdict,
};

use super::db::Db;
use super::driver::{Driver, run};
use super::fault::Fault;
use super::row::Row;
use super::traces::{CURRENT, STATUS};
use super::value::params;
use super::{memory_rows, projects, tree};
use crate::error::Result;
use crate::store::{Browse, MemoryKey, TraceFilter, TraceSearch, UsedMemory, WaitingTrace, words};

#[async_trait]
impl<D: Driver> Browse for D {
    async fn browse_traces(
        &self,
        project: &ProjectId,
        search: &TraceSearch,
    ) -> Result<Page<TraceOverview>> {
        run!(self.read(project, search) => find)
    }

    async fn trace_tree(&self, project: &ProjectId, id: &TraceId) -> Result<Option<TraceTree>> {
        run!(self.read(project, id) => tree::around)
    }

    async fn trace_models(&self, project: &ProjectId) -> Result<Vec<String>> {
        run!(self.read(project) => models)
    }

    async fn count_waiting(&self, project: &ProjectId) -> Result<u64> {
        run!(self.look(project) => count_waiting)
    }

    async fn waiting_traces(&self, project: &ProjectId, limit: usize) -> Result<Vec<WaitingTrace>> {
        run!(self.read(project; limit) => waiting)
    }

    async fn find_memories(
        &self,
        project: &ProjectId,
        ids: &[MemoryId],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>> {
        run!(self.read(project, ids) => find_memories)
    }
}

/// The columns of [`overview`], from a trace `t` and its [`CURRENT`] review.
pub(super) fn columns() -> String {
    format!(
        "t.id, substr(t.task, 1, {}) AS task, t.model, t.created_at, {STATUS} AS ingest_status, r.verdict, \
             r.reviewer, json_array_length(t.retrieved::json)::bigint AS given",
        TraceOverview::MAX_TASK
    )
}

pub(super) fn overview(row: &Row) -> Result<TraceOverview, Fault> {
    let verdict: Option<String> = row.get("verdict")?;
    let reviewer = match verdict {
        Some(_) => Some(row.reviewer()?),
        None => None,
    };
    Ok(TraceOverview {
        id: row.get("id")?,
        task: row.get("task")?,
        model: row.get("model")?,
        created_at: row.get("created_at")?,
        ingest_status: row.get("ingest_status")?,
        verdict: verdict.map(|text| text.parse().unwrap_or(Verdict::Unknown)),
        reviewer,
        given: row.get("given")?,
    })
}

async fn find(
    db: &Db<'_>,
    project: &ProjectId,
    search: &TraceSearch,
) -> Result<Page<TraceOverview>, Fault> {
    let project = projects::key(db, project).await?;
    let before = ("before", search.before.as_ref().map(TraceId::as_str));
    let start = projects::cursor(db, project, projects::TRACES, before, i64::MAX).await?;
    let Some(project) = project else {
        return Ok(Page::default());
    };
    let words = words::to_search(&search.text);
    let words = (!words.is_empty()).then(|| db.dialect().search(&words, project));
    let (from, key, matched) = match words {
        Some(_) => ("{SEARCHED_TRACES}", "{SEARCHED_KEY}", "AND {MATCHES}"),
        None => ("trace t", "t.key", "AND $4::text IS NULL"),
    };
    let filter = match search.filter {
        None => "",
        Some(TraceFilter::Waiting) => "AND NOT t.reviewed AND r.id IS NULL",
        Some(TraceFilter::Passed) => "AND r.verdict = 'pass'",
        Some(TraceFilter::Failed) => "AND r.verdict = 'fail'",
        Some(TraceFilter::Judged) => "AND r.reviewer <> 'program'",
        Some(TraceFilter::NotLearned) => "AND t.ingest_status = 'failed'",
    };
    // Left out, because an index is not used for a condition that may hold without it.
    let model = match search.model {
        Some(_) => "AND t.model = $5",
        None => "AND $5::text IS NULL",
    };
    let session = match search.session {
        Some(_) => "AND t.session_id = $6",
        None => "AND $6::text IS NULL",
    };
    let limit = match search.limit {
        0 => TraceSearch::DEFAULT_LIMIT,
        limit => limit.min(TraceSearch::MAX_LIMIT),
    };
    let select = format!(
        "SELECT {} FROM {from} {CURRENT} WHERE t.project = $1 AND {key} < $2 {filter} {matched} {model} \
             {session} \
         ORDER BY {key} DESC LIMIT $3",
        columns()
    );
    // One more than the limit shows whether another page follows.
    let most = limit + 1;
    let rows = db
        .query(
            &select,
            &params![project, start, most, words, search.model, search.session],
        )
        .await?;
    let items: Result<Vec<_>, Fault> = rows.iter().map(overview).collect();
    let mut items = items?;
    let more = items.len() > limit;
    items.truncate(limit);
    Ok(Page { items, more })
}

async fn models(db: &Db<'_>, project: &ProjectId) -> Result<Vec<String>, Fault> {
    let Some(project) = projects::key(db, project).await? else {
        return Ok(Vec::new());
    };
    // From model to model, which reads as many rows of the index as there are models.
    let next = "SELECT min(model) FROM trace WHERE project = $1 AND model > $2";
    let (mut models, mut last) = (Vec::new(), String::new());
    while models.len() < TraceSearch::MAX_MODELS {
        let found: Option<String> = db.one(next, &params![project, last]).await?.first()?;
        let Some(model) = found else { break };
        models.push(model.clone());
        last = model;
    }
    Ok(models)
}

async fn count_waiting(db: &Db<'_>, project: &ProjectId) -> Result<u64, Fault> {
    let count = "SELECT count(*) FROM (SELECT 1 AS one FROM project p JOIN trace t ON t.project = p.key \
         WHERE p.id = $1 AND NOT t.reviewed AND t.ingest_status = 'completed' LIMIT $2) waiting";
    db.one(count, &params![project, TraceSearch::MAX_COUNTED])
        .await?
        .first()
}

async fn waiting(
    db: &Db<'_>,
    project: &ProjectId,
    limit: usize,
) -> Result<Vec<WaitingTrace>, Fault> {
    let Some(project) = projects::key(db, project).await? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for condition in [
        "NOT t.reviewed AND r.id IS NULL",
        "t.reviewed AND r.reviewer <> 'program'",
    ] {
        let select = format!(
            "SELECT {}, t.retrieved FROM trace t {CURRENT} WHERE t.project = $1 AND {condition} \
             ORDER BY t.key DESC LIMIT $2",
            columns()
        );
        for row in &db.query(&select, &params![project, limit]).await? {
            let given: Vec<MemoryId> = row.json("retrieved")?;
            found.push((overview(row)?, given));
        }
    }
    let known = used(db, project, found.iter().flat_map(|(_, given)| given)).await?;
    let waiting = found.into_iter().map(|(trace, given)| WaitingTrace {
        suggestion: match (&trace.reviewer, trace.verdict) {
            (Some(Reviewer::Model(model)), Some(result)) => Some(ModelVerdict {
                model: model.clone(),
                result,
            }),
            _ => None,
        },
        memories: given
            .iter()
            .filter_map(|id| known.get(id).cloned())
            .collect(),
        trace,
    });
    Ok(waiting.collect())
}

async fn used<'a>(
    db: &Db<'_>,
    project: i64,
    ids: impl Iterator<Item = &'a MemoryId>,
) -> Result<HashMap<MemoryId, UsedMemory>, Fault> {
    let ids: Vec<&str> = ids.map(MemoryId::as_str).collect();
    let select = "SELECT id, q, uses FROM memory \
         WHERE project = $1 AND id = ANY($2) AND status <> 'withdrawn'";
    let rows = db.query(select, &params![project, ids]).await?;
    let used = rows.iter().map(|row| {
        let used = UsedMemory {
            id: row.get("id")?,
            q_value: row.get("q")?,
            uses: row.get("uses")?,
        };
        Ok((used.id.clone(), used))
    });
    used.collect()
}

async fn find_memories(
    db: &Db<'_>,
    project: &ProjectId,
    ids: &[MemoryId],
) -> Result<Vec<(MemoryKey, MemoryRecord)>, Fault> {
    let names: Vec<&str> = ids.iter().map(MemoryId::as_str).collect();
    let select = format!(
        "SELECT {} FROM project p JOIN memory m ON m.project = p.key \
         WHERE p.id = $1 AND m.id = ANY($2) AND m.status <> 'withdrawn'",
        memory_rows::MEMORY
    );
    let mut found = HashMap::new();
    for row in &db.query(&select, &params![project, names]).await? {
        let memory = memory_rows::read(row)?;
        found.insert(memory.id.clone(), (row.get("key")?, memory));
    }
    Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
}
