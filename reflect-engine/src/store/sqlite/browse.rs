//! Lists for people.

use std::collections::HashMap;

use async_trait::async_trait;
use reflect_types::{MemoryId, MemoryRecord, ModelVerdict, Page, ProjectId, Reviewer};
use rusqlite::{Connection, OptionalExtension, named_params, params};

use super::fault::Fault;
use super::{Sqlite, projects, row};
use crate::error::{Error, Result};
use crate::store::{
    Browse, MemoryKey, TraceFilter, TraceOverview, TraceSearch, UsedMemory, WaitingTrace,
};

#[async_trait]
impl Browse for Sqlite {
    async fn browse_traces(
        &self,
        project: &ProjectId,
        search: &TraceSearch,
    ) -> Result<Page<TraceOverview>> {
        let (project, search) = (project.clone(), search.clone());
        self.read(move |db| traces(db, &project, &search)).await
    }

    async fn trace_models(&self, project: &ProjectId) -> Result<Vec<String>> {
        let project = project.clone();
        self.read(move |db| models(db, &project)).await
    }

    async fn count_waiting(&self, project: &ProjectId) -> Result<u64> {
        let project = project.clone();
        self.read(move |db| count_waiting(db, &project)).await
    }

    async fn waiting_traces(&self, project: &ProjectId, limit: usize) -> Result<Vec<WaitingTrace>> {
        let project = project.clone();
        self.read(move |db| waiting(db, &project, limit)).await
    }

    async fn find_memories(
        &self,
        project: &ProjectId,
        ids: &[MemoryId],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>> {
        let (project, ids) = (project.clone(), ids.to_vec());
        self.read(move |db| memories(db, &project, &ids)).await
    }
}

/// The columns of [`overview`]. None is stored after the trajectory, which would have to be read over.
fn columns() -> String {
    format!(
        "t.id, substr(t.task, 1, {}), t.model, t.created_at, {}, r.verdict, r.reviewer_model, \
         json_array_length(t.retrieved)",
        TraceOverview::MAX_TASK,
        row::STATUS
    )
}

fn traces(
    db: &Connection,
    project: &ProjectId,
    search: &TraceSearch,
) -> Result<Page<TraceOverview>, Fault> {
    let start = match &search.before {
        Some(id) => row::trace_key(db, project, id)?
            .ok_or_else(|| Error::unknown_cursor("before", "trace", id.as_str()))?,
        None => i64::MAX,
    };
    let Some(project) = projects::key(db, project)? else {
        return Ok(Page::default());
    };
    let words = words(&search.text, project);
    // The first table decides the order of reading: the one of the rarest condition that has an index.
    let from = match (&words, search.filter) {
        (Some(_), _) => {
            "trace_text f CROSS JOIN trace t ON t.key = f.rowid LEFT JOIN review r ON r.trace = t.key"
        }
        (None, Some(TraceFilter::Passed | TraceFilter::Failed | TraceFilter::Judged)) => {
            "review r CROSS JOIN trace t ON t.key = r.trace"
        }
        (None, _) => "trace t LEFT JOIN review r ON r.trace = t.key",
    };
    let key = match from.as_bytes()[0] {
        _ if words.is_some() => "f.rowid",
        b'r' => "r.trace",
        _ => "t.key",
    };
    let matched = match words {
        Some(_) => "AND trace_text MATCH :words",
        None => "AND :words IS NULL",
    };
    let filter = match search.filter {
        None => "",
        Some(TraceFilter::Waiting) => "AND t.reviewed = 0 AND r.id IS NULL",
        Some(TraceFilter::Passed) => "AND r.verdict = 'pass'",
        Some(TraceFilter::Failed) => "AND r.verdict = 'fail'",
        Some(TraceFilter::Judged) => "AND r.reviewer_model IS NOT NULL",
        Some(TraceFilter::NotLearned) => "AND t.ingest_status = 'failed'",
    };
    let model = match search.model {
        Some(_) => "AND t.model = :model",
        None => "AND :model IS NULL",
    };
    let limit = match search.limit {
        0 => TraceSearch::DEFAULT_LIMIT,
        limit => limit.min(TraceSearch::MAX_LIMIT),
    };
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM {from} WHERE t.project = :project AND {key} < :start {matched} {filter} {model} \
         ORDER BY {key} DESC LIMIT :limit",
        columns()
    ))?;
    let mut rows = select.query(named_params! {
        ":project": project,
        ":start": start,
        ":words": words,
        ":model": search.model,
        // One more than the limit shows whether another page follows.
        ":limit": row::limit(limit + 1),
    })?;
    let mut items = Vec::new();
    while let Some(found) = rows.next()? {
        items.push(row::trace_overview(found)?);
    }
    let more = items.len() > limit;
    items.truncate(limit);
    Ok(Page { items, more })
}

/// The search for tasks of the project that have a word with each of these beginnings.
/// The words of a search beyond which it ignores the rest.
const MAX_WORDS: usize = 32;

fn words(text: &str, project: i64) -> Option<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .take(MAX_WORDS)
        .map(|word| format!("\"{word}\"*"))
        .collect();
    if words.is_empty() {
        return None;
    }
    let words = words.join(" AND ");
    Some(format!("project : \"{project}\" AND task : ({words})"))
}

fn models(db: &Connection, project: &ProjectId) -> Result<Vec<String>, Fault> {
    // From model to model, which reads as many rows of the index as there are models.
    let mut next = db.prepare_cached(
        "SELECT min(t.model) FROM trace t JOIN project p ON p.key = t.project \
         WHERE p.id = ?1 AND t.model > ?2",
    )?;
    let (mut models, mut last) = (Vec::new(), String::new());
    while let Some(model) = next.query_row(params![project.as_str(), last], |row| {
        row.get::<_, Option<String>>(0)
    })? {
        models.push(model.clone());
        last = model;
        if models.len() >= TraceSearch::MAX_MODELS {
            break;
        }
    }
    Ok(models)
}

fn count_waiting(db: &Connection, project: &ProjectId) -> Result<u64, Fault> {
    let mut count = db.prepare_cached(
        "SELECT count(*) FROM (SELECT 1 FROM trace t JOIN project p ON p.key = t.project \
         WHERE p.id = ?1 AND t.reviewed = 0 AND t.ingest_status = 'completed' LIMIT ?2)",
    )?;
    let most = row::stored_count(TraceSearch::MAX_COUNTED);
    let mut rows = count.query(params![project.as_str(), most])?;
    rows.next()?.map_or(Ok(0), |found| row::count(found, 0))
}

fn waiting(db: &Connection, project: &ProjectId, limit: usize) -> Result<Vec<WaitingTrace>, Fault> {
    let Some(project) = projects::key(db, project)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    // Each is in the order of its first table, so that reading ends at the limit.
    for condition in [
        "trace t LEFT JOIN review r ON r.trace = t.key \
         WHERE t.project = ?1 AND t.reviewed = 0 AND r.id IS NULL ORDER BY t.key",
        "review r CROSS JOIN trace t ON t.key = r.trace \
         WHERE r.reviewer_model IS NOT NULL AND t.project = ?1 AND t.reviewed = 1 ORDER BY r.trace",
    ] {
        let mut select = db.prepare_cached(&format!(
            "SELECT {}, t.retrieved FROM {condition} DESC LIMIT ?2",
            columns()
        ))?;
        let mut rows = select.query(params![project, row::limit(limit)])?;
        while let Some(found_row) = rows.next()? {
            let given: Vec<MemoryId> = row::json(found_row, 8)?;
            found.push((row::trace_overview(found_row)?, given));
        }
    }
    let mut known = HashMap::new();
    let mut waiting = Vec::with_capacity(found.len());
    for (trace, given) in found {
        let mut memories = Vec::with_capacity(given.len());
        for id in given {
            if !known.contains_key(&id) {
                known.insert(id.clone(), memory(db, project, &id)?);
            }
            memories.extend(known.get(&id).cloned().flatten());
        }
        let suggestion = match (&trace.reviewer, trace.verdict) {
            (Some(Reviewer::Model(model)), Some(result)) => Some(ModelVerdict {
                model: model.clone(),
                result,
            }),
            _ => None,
        };
        waiting.push(WaitingTrace {
            trace,
            suggestion,
            memories,
        });
    }
    Ok(waiting)
}

fn memory(db: &Connection, project: i64, id: &MemoryId) -> Result<Option<UsedMemory>, Fault> {
    let mut select = db.prepare_cached(
        "SELECT q, uses FROM memory WHERE project = ?1 AND id = ?2 AND status <> 'withdrawn'",
    )?;
    let found = select
        .query_row(params![project, id.as_str()], |row| {
            Ok((row.get::<_, f64>(0)?, row.get::<_, i64>(1)?))
        })
        .optional()?;
    Ok(found.map(|(q_value, uses)| UsedMemory {
        id: id.clone(),
        q_value,
        uses: uses.try_into().unwrap_or(0),
    }))
}

fn memories(
    db: &Connection,
    project: &ProjectId,
    ids: &[MemoryId],
) -> Result<Vec<(MemoryKey, MemoryRecord)>, Fault> {
    let mut select = db.prepare_cached(&format!(
        "SELECT {} FROM memory m JOIN project p ON p.key = m.project \
         WHERE p.id = ?1 AND m.id = ?2 AND m.status <> 'withdrawn'",
        row::MEMORY
    ))?;
    let mut found = Vec::with_capacity(ids.len());
    for id in ids {
        let mut rows = select.query([project.as_str(), id.as_str()])?;
        if let Some(row) = rows.next()? {
            found.push((row.get(0)?, row::memory(row)?));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_matches_beginnings_of_words_and_takes_no_operators() {
        assert_eq!(
            words("refund* OR \"7\"", 3).as_deref(),
            Some("project : \"3\" AND task : (\"refund\"* AND \"OR\"* AND \"7\"*)")
        );
        assert_eq!(words(" *\" ", 3), None);
    }
}
