//! Counts of runs for reports.

use async_trait::async_trait;
use reflect_types::{Grouping, MemoryId, ModelVerdict, ProjectId};
use rusqlite::{Connection, params};

use super::fault::Fault;
use super::{Sqlite, projects, row};
use crate::clock;
use crate::error::Result;
use crate::statistics::{Agreement, Rate};
use crate::store::{MemoryTally, Tallies, Tally, TallyQuery, shown_metadata};

#[async_trait]
impl Tallies for Sqlite {
    async fn tally_runs(&self, project: &ProjectId, query: &TallyQuery) -> Result<Vec<Tally>> {
        let (project, query) = (project.clone(), query.clone());
        self.read(move |db| of_runs(db, &project, &query)).await
    }

    async fn given_memories(&self, project: &ProjectId, limit: usize) -> Result<Vec<MemoryTally>> {
        let project = project.clone();
        self.read(move |db| of_memories(db, &project, limit)).await
    }

    async fn agreement(&self, project: &ProjectId, model: &str) -> Result<Agreement> {
        let (project, model) = (project.clone(), model.to_owned());
        self.read(move |db| agreement(db, &project, &model)).await
    }
}

fn of_runs(db: &Connection, project: &ProjectId, query: &TallyQuery) -> Result<Vec<Tally>, Fault> {
    let Some(project) = projects::key(db, project)? else {
        return Ok(Vec::new());
    };
    let (group, path) = match &query.by {
        None => ("NULL", None),
        Some(Grouping::Model) => ("t.model", None),
        Some(Grouping::Month) => ("substr(t.created_at, 1, 7)", None),
        Some(Grouping::Day) => ("substr(t.created_at, 1, 10)", None),
        Some(Grouping::Metadata(key)) => ("t.metadata -> ?4", Some(format!("$.\"{key}\""))),
        Some(other) => return Err(Fault::Data(format!("no runs are grouped by {other:?}"))),
    };
    // The columns of `trace` before the join, and those of `review`, are in indexes, unless the group is
    // a part of the metadata.
    let mut select = db.prepare_cached(&format!(
        "SELECT substr(t.created_at, 1, 7), {group}, t.arm, r.verdict, r.reviewer_model, \
             r.overruled_model, r.overruled_verdict, count(*) \
         FROM trace t LEFT JOIN review r ON r.trace = t.key \
         WHERE t.project = ?1 AND t.created_at >= ?2 AND (?3 IS NULL OR t.created_at < ?3) \
         GROUP BY 1, 2, 3, 4, 5, 6, 7",
    ))?;
    let since = query.since.map(clock::text).unwrap_or_default();
    let until = query.until.map(clock::text);
    let is_json = path.is_some();
    let mut rows = match path {
        Some(path) => select.query(params![project, since, until, path])?,
        None => select.query(params![project, since, until])?,
    };
    let mut tallies = Vec::new();
    while let Some(found) = rows.next()? {
        let group: Option<String> = found.get(1)?;
        tallies.push(Tally {
            month: found.get(0)?,
            group: if is_json {
                group.as_deref().and_then(shown_metadata)
            } else {
                group
            },
            arm: row::optional_name(found, 2)?,
            verdict: row::optional_verdict(found, 3)?,
            model: found.get(4)?,
            overruled: row::model_verdict(found, 5)?,
            runs: row::count(found, 7)?,
        });
    }
    Ok(tallies)
}

/// The memories that most reviewed runs were given, with the verdicts of these runs.
fn of_memories(
    db: &Connection,
    project: &ProjectId,
    limit: usize,
) -> Result<Vec<MemoryTally>, Fault> {
    let Some(project) = projects::key(db, project)? else {
        return Ok(Vec::new());
    };
    // The bound of `uses` as a literal, because a partial index is used for nothing else.
    let mut select = db.prepare_cached(
        "SELECT m.id, m.task, sum(e.reward >= 0.5), sum(e.reward < 0.5) FROM ( \
             SELECT key, id, task FROM memory WHERE project = ?1 AND uses >= 5 AND status = 'active' \
             ORDER BY uses DESC LIMIT ?2) m \
         JOIN utility_event e ON e.memory = m.key WHERE e.aside = 0 GROUP BY m.key",
    )?;
    let mut rows = select.query(params![project, row::limit(limit)])?;
    let mut memories = Vec::new();
    while let Some(found) = rows.next()? {
        memories.push(MemoryTally {
            id: MemoryId::new(found.get::<_, String>(0)?),
            task: found.get(1)?,
            runs: Rate {
                passed: row::count(found, 2)?,
                failed: row::count(found, 3)?,
            },
        });
    }
    Ok(memories)
}

/// How far a model agrees with people on the runs of the project that both reviewed.
fn agreement(db: &Connection, project: &ProjectId, model: &str) -> Result<Agreement, Fault> {
    let mut agreement = Agreement::default();
    let Some(project) = projects::key(db, project)? else {
        return Ok(agreement);
    };
    let mut select = db.prepare_cached(
        "SELECT r.overruled_model, r.overruled_verdict, r.verdict, count(*) \
         FROM review r JOIN trace t ON t.key = r.trace \
         WHERE r.overruled_model = ?2 AND t.project = ?1 GROUP BY 2, 3",
    )?;
    let mut rows = select.query(params![project, model])?;
    while let Some(found) = rows.next()? {
        let model: Option<ModelVerdict> = row::model_verdict(found, 0)?;
        if let Some(model) = model {
            agreement.add(model.result, row::verdict(found, 2)?, row::count(found, 3)?);
        }
    }
    Ok(agreement)
}
