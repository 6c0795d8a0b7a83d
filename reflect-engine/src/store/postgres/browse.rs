//! Lists for people.

use std::collections::HashMap;

use async_trait::async_trait;
use reflect_types::{MemoryId, MemoryRecord, ModelVerdict, Page, ProjectId, Reviewer};

use super::fault::Fault;
use super::sql::Db;
use super::transaction::read;
use super::value::params;
use super::words::search;
use super::{Postgres, projects, row};
use crate::error::{Error, Result};
use crate::store::{
    Browse, MemoryKey, TraceFilter, TraceOverview, TraceSearch, UsedMemory, WaitingTrace,
};

#[async_trait]
impl Browse for Postgres {
    async fn browse_traces(
        &self,
        project: &ProjectId,
        search: &TraceSearch,
    ) -> Result<Page<TraceOverview>> {
        read!(self, |db| traces(db, project, search))
    }

    async fn trace_models(&self, project: &ProjectId) -> Result<Vec<String>> {
        read!(self, |db| models(db, project))
    }

    async fn count_waiting(&self, project: &ProjectId) -> Result<u64> {
        read!(self, |db| count_waiting(db, project))
    }

    async fn waiting_traces(&self, project: &ProjectId, limit: usize) -> Result<Vec<WaitingTrace>> {
        read!(self, |db| waiting(db, project, limit))
    }

    async fn find_memories(
        &self,
        project: &ProjectId,
        ids: &[MemoryId],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>> {
        read!(self, |db| memories(db, project, ids))
    }
}

/// The columns of [`overview`].
fn columns() -> String {
    format!(
        "t.id, left(t.task, {}), t.model, t.created_at, {}, r.verdict, r.reviewer_model, \
         json_array_length(t.retrieved::json)::bigint",
        TraceOverview::MAX_TASK,
        row::STATUS
    )
}

async fn traces(
    db: &Db<'_>,
    project: &ProjectId,
    find: &TraceSearch,
) -> Result<Page<TraceOverview>, Fault> {
    let start = match &find.before {
        Some(id) => row::trace_key(db, project, id)
            .await?
            .ok_or_else(|| Error::unknown_cursor("before", "trace", id.as_str()))?,
        None => i64::MAX,
    };
    let Some(project) = projects::key(db, project).await? else {
        return Ok(Page::default());
    };
    let filter = match find.filter {
        None => "",
        Some(TraceFilter::Waiting) => "AND NOT t.reviewed AND r.id IS NULL",
        Some(TraceFilter::Passed) => "AND r.verdict = 'pass'",
        Some(TraceFilter::Failed) => "AND r.verdict = 'fail'",
        Some(TraceFilter::Judged) => "AND r.reviewer_model IS NOT NULL",
        Some(TraceFilter::NotLearned) => "AND t.ingest_status = 'failed'",
    };
    let words = search(&find.text);
    let matched = match words {
        Some(_) => "AND t.task_words @@ $4::text::tsquery",
        None => "AND $4::text IS NULL",
    };
    let limit = match find.limit {
        0 => TraceSearch::DEFAULT_LIMIT,
        limit => limit.min(TraceSearch::MAX_LIMIT),
    };
    let select = format!(
        "SELECT {} FROM trace t LEFT JOIN review r ON r.trace = t.key \
         WHERE t.project = $1 AND t.key < $2 {filter} {matched} \
             AND ($5::text IS NULL OR t.model = $5) ORDER BY t.key DESC LIMIT $3",
        columns()
    );
    // One more than the limit shows whether another page follows.
    let rows = row::limit(limit + 1);
    let rows = db
        .query(&select, params![project, start, rows, words, find.model])
        .await?;
    let items: Result<Vec<_>, Fault> = rows.iter().map(row::trace_overview).collect();
    let mut items = items?;
    let more = items.len() > limit;
    items.truncate(limit);
    Ok(Page { items, more })
}

async fn models(db: &Db<'_>, project: &ProjectId) -> Result<Vec<String>, Fault> {
    // From model to model, which reads as many rows of the index as there are models.
    let next = "SELECT min(t.model) FROM trace t JOIN project p ON p.key = t.project \
         WHERE p.id = $1 AND t.model > $2";
    let (mut models, mut last) = (Vec::new(), String::new());
    while let Some(model) = db
        .one(next, params![project.as_str(), last])
        .await?
        .get::<Option<String>>(0)?
    {
        models.push(model.clone());
        last = model;
        if models.len() >= TraceSearch::MAX_MODELS {
            break;
        }
    }
    Ok(models)
}

async fn count_waiting(db: &Db<'_>, project: &ProjectId) -> Result<u64, Fault> {
    let most = i64::try_from(TraceSearch::MAX_COUNTED).unwrap_or(i64::MAX);
    let found = db
        .one(
            "SELECT count(*) FROM (SELECT 1 FROM trace t JOIN project p ON p.key = t.project \
             WHERE p.id = $1 AND NOT t.reviewed AND t.ingest_status = 'completed' LIMIT $2) waiting",
            params![project.as_str(), most],
        )
        .await?;
    row::count(&found, 0)
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
        "LEFT JOIN review r ON r.trace = t.key \
         WHERE t.project = $1 AND NOT t.reviewed AND r.id IS NULL",
        "JOIN review r ON r.trace = t.key \
         WHERE r.reviewer_model IS NOT NULL AND t.project = $1 AND t.reviewed",
    ] {
        let select = format!(
            "SELECT {}, t.retrieved FROM trace t {condition} ORDER BY t.key DESC LIMIT $2",
            columns()
        );
        for row in db
            .query(&select, params![project, row::limit(limit)])
            .await?
        {
            let given: Vec<MemoryId> = row::json(&row, 8)?;
            found.push((row::trace_overview(&row)?, given));
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
    let ids: Vec<String> = ids.map(ToString::to_string).collect();
    let rows = db
        .query(
            "SELECT id, q, uses FROM memory \
             WHERE project = $1 AND id = ANY($2) AND status <> 'withdrawn'",
            params![project, ids.as_slice()],
        )
        .await?;
    let used = rows.iter().map(|row| {
        let id = MemoryId::new(row.get::<String>(0)?);
        let used = UsedMemory {
            id: id.clone(),
            q_value: row.get(1)?,
            uses: row::count(row, 2)?,
        };
        Ok((id, used))
    });
    used.collect()
}

async fn memories(
    db: &Db<'_>,
    project: &ProjectId,
    ids: &[MemoryId],
) -> Result<Vec<(MemoryKey, MemoryRecord)>, Fault> {
    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let select = format!(
        "SELECT {} FROM memory m JOIN project p ON p.key = m.project \
         WHERE p.id = $1 AND m.id = ANY($2) AND m.status <> 'withdrawn'",
        row::MEMORY
    );
    let rows = db
        .query(&select, params![project.as_str(), texts.as_slice()])
        .await?;
    let mut found = HashMap::new();
    for row in &rows {
        let memory = row::memory(row)?;
        found.insert(memory.id.clone(), (row.get(0)?, memory));
    }
    Ok(ids.iter().filter_map(|id| found.get(id).cloned()).collect())
}
