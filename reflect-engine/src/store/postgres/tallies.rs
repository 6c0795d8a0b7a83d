//! Counts of runs for reports.

use async_trait::async_trait;
use reflect_types::{Grouping, MemoryId, ProjectId};

use super::fault::Fault;
use super::sql::Db;
use super::transaction::read;
use super::value::params;
use super::{Postgres, projects, row};
use crate::clock;
use crate::error::Result;
use crate::statistics::{Agreement, Rate};
use crate::store::{MemoryTally, Tallies, Tally, TallyQuery, shown_metadata};

#[async_trait]
impl Tallies for Postgres {
    async fn tally_runs(&self, project: &ProjectId, query: &TallyQuery) -> Result<Vec<Tally>> {
        read!(self, |db| of_runs(db, project, query))
    }

    async fn given_memories(&self, project: &ProjectId, limit: usize) -> Result<Vec<MemoryTally>> {
        read!(self, |db| of_memories(db, project, limit))
    }

    async fn agreement(&self, project: &ProjectId, model: &str) -> Result<Agreement> {
        read!(self, |db| agreement(db, project, model))
    }
}

async fn of_runs(
    db: &Db<'_>,
    project: &ProjectId,
    query: &TallyQuery,
) -> Result<Vec<Tally>, Fault> {
    let Some(project) = projects::key(db, project).await? else {
        return Ok(Vec::new());
    };
    let (group, key) = match &query.by {
        None => ("NULL::text", None),
        Some(Grouping::Model) => ("t.model", None),
        Some(Grouping::Month) => ("substr(t.created_at, 1, 7)", None),
        Some(Grouping::Day) => ("substr(t.created_at, 1, 10)", None),
        Some(Grouping::Metadata(key)) => ("(t.metadata::json -> $4::text)::text", Some(&**key)),
        Some(other) => return Err(Fault::Data(format!("no runs are grouped by {other:?}"))),
    };
    let select = format!(
        "SELECT substr(t.created_at, 1, 7), {group}, t.arm, r.verdict, r.overruled_model, \
             r.overruled_verdict, r.reviewer_model, count(*) \
         FROM trace t LEFT JOIN review r ON r.trace = t.key \
         WHERE t.project = $1 AND t.created_at COLLATE \"C\" >= $2 \
             AND ($3::text IS NULL OR t.created_at COLLATE \"C\" < $3) \
         GROUP BY 1, 2, 3, 4, 5, 6, 7"
    );
    let since = query.since.map(clock::text).unwrap_or_default();
    let until = query.until.map(clock::text);
    let rows = match key {
        Some(key) => {
            db.query(&select, params![project, since, until, key])
                .await?
        }
        None => db.query(&select, params![project, since, until]).await?,
    };
    let mut tallies = Vec::new();
    for found in &rows {
        let group: Option<String> = found.get(1)?;
        tallies.push(Tally {
            month: found.get(0)?,
            group: match key {
                Some(_) => group.as_deref().and_then(shown_metadata),
                None => group,
            },
            arm: row::optional_name(found, 2)?,
            verdict: row::optional_verdict(found, 3)?,
            overruled: row::model_verdict(found, 4)?,
            model: found.get(6)?,
            runs: row::count(found, 7)?,
        });
    }
    Ok(tallies)
}

/// The memories that most reviewed runs were given, with the verdicts of these runs.
async fn of_memories(
    db: &Db<'_>,
    project: &ProjectId,
    limit: usize,
) -> Result<Vec<MemoryTally>, Fault> {
    let Some(project) = projects::key(db, project).await? else {
        return Ok(Vec::new());
    };
    let rows = db
        .query(
            "SELECT m.id, m.task, count(*) FILTER (WHERE e.reward >= 0.5), \
                 count(*) FILTER (WHERE e.reward < 0.5) FROM ( \
                 SELECT key, id, task FROM memory \
                 WHERE project = $1 AND uses >= 5 AND status = 'active' \
                 ORDER BY uses DESC LIMIT $2) m \
             JOIN utility_event e ON e.memory = m.key WHERE NOT e.aside \
             GROUP BY m.key, m.id, m.task",
            params![project, row::limit(limit)],
        )
        .await?;
    let mut memories = Vec::new();
    for found in &rows {
        memories.push(MemoryTally {
            id: MemoryId::new(found.get::<String>(0)?),
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
async fn agreement(db: &Db<'_>, project: &ProjectId, model: &str) -> Result<Agreement, Fault> {
    let mut agreement = Agreement::default();
    let Some(project) = projects::key(db, project).await? else {
        return Ok(agreement);
    };
    let rows = db
        .query(
            "SELECT r.overruled_model, r.overruled_verdict, r.verdict, count(*) \
             FROM review r JOIN trace t ON t.key = r.trace \
             WHERE r.overruled_model = $2 AND t.project = $1 GROUP BY 1, 2, 3",
            params![project, model],
        )
        .await?;
    for found in &rows {
        if let Some(model) = row::model_verdict(found, 0)? {
            agreement.add(model.result, row::verdict(found, 2)?, row::count(found, 3)?);
        }
    }
    Ok(agreement)
}
