//! Counts of runs for reports.

use async_trait::async_trait;
use reflect_types::{Grouping, ModelVerdict, ProjectId, UsageSum};

use super::db::Db;
use super::driver::{Driver, run};
use super::fault::Fault;
use super::projects;
use super::traces::CURRENT;
use super::value::params;
use crate::clock;
use crate::error::Result;
use crate::statistics::{Agreement, Rate};
use crate::store::{MemoryTally, Tallies, Tally, TallyQuery, UsageTally, shown_metadata};

#[async_trait]
impl<D: Driver> Tallies for D {
    async fn tally_runs(&self, project: &ProjectId, query: &TallyQuery) -> Result<Vec<Tally>> {
        run!(self.read(project, query) => of_runs)
    }

    async fn tally_usage(
        &self,
        project: &ProjectId,
        query: &TallyQuery,
    ) -> Result<Vec<UsageTally>> {
        run!(self.read(project, query) => of_usage)
    }

    async fn given_memories(&self, project: &ProjectId, limit: usize) -> Result<Vec<MemoryTally>> {
        run!(self.read(project; limit) => of_memories)
    }

    async fn agreement(&self, project: &ProjectId, model: &str) -> Result<Agreement> {
        run!(self.read(project, model) => agreement)
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
        None => ("$4::text", None),
        Some(Grouping::Model) => ("coalesce(t.model, $4)", None),
        Some(Grouping::Month) => ("coalesce(substr(t.created_at, 1, 7), $4)", None),
        Some(Grouping::Day) => ("coalesce(substr(t.created_at, 1, 10), $4)", None),
        Some(Grouping::Metadata(key)) => ("{JSON_FIELD}", Some(&**key)),
        Some(other) => return Err(Fault::Data(format!("no runs are grouped by {other:?}"))),
    };
    let select = format!(
        "SELECT substr(t.created_at, 1, 7) AS month, {group} AS shown_as, t.arm, r.verdict, \
             r.overruled_model, r.overruled_verdict, r.reviewer_model, count(*) AS runs \
         FROM trace t {CURRENT} WHERE t.project = $1 AND t.created_at >= $2 \
             AND ($3::text IS NULL OR t.created_at < $3) GROUP BY 1, 2, 3, 4, 5, 6, 7"
    );
    let since = query.since.map(clock::text).unwrap_or_default();
    let until = query.until.map(clock::text);
    let rows = db
        .query(&select, &params![project, since, until, key])
        .await?;
    let tallies = rows.iter().map(|row| {
        let group: Option<String> = row.get("shown_as")?;
        Ok(Tally {
            month: row.get("month")?,
            group: match key {
                Some(_) => group.as_deref().and_then(shown_metadata),
                None => group,
            },
            arm: row.get("arm")?,
            verdict: row.get("verdict")?,
            overruled: row.model_verdict("overruled_model", "overruled_verdict")?,
            model: row.get("reviewer_model")?,
            runs: row.get("runs")?,
        })
    });
    tallies.collect()
}

async fn of_usage(
    db: &Db<'_>,
    project: &ProjectId,
    query: &TallyQuery,
) -> Result<Vec<UsageTally>, Fault> {
    let Some(project) = projects::key(db, project).await? else {
        return Ok(Vec::new());
    };
    let select = "SELECT t.model, t.arm, count(*) AS runs, sum(t.input_tokens)::bigint AS input_tokens, \
             sum(t.output_tokens)::bigint AS output_tokens FROM trace t \
         WHERE t.project = $1 AND t.created_at >= $2 AND ($3::text IS NULL OR t.created_at < $3) \
             AND t.input_tokens IS NOT NULL GROUP BY 1, 2";
    let since = query.since.map(clock::text).unwrap_or_default();
    let until = query.until.map(clock::text);
    let rows = db.query(select, &params![project, since, until]).await?;
    let tallies = rows.iter().map(|row| {
        Ok(UsageTally {
            model: row.get("model")?,
            arm: row.get("arm")?,
            sum: UsageSum {
                runs: row.get("runs")?,
                input_tokens: row.get("input_tokens")?,
                output_tokens: row.get("output_tokens")?,
            },
        })
    });
    tallies.collect()
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
    let select = "SELECT m.id, m.task, count(*) FILTER (WHERE e.reward >= 0.5) AS passed, \
             count(*) FILTER (WHERE e.reward < 0.5) AS failed FROM ( \
             SELECT project, key, id, task FROM memory \
             WHERE project = $1 AND uses >= 5 AND status = 'active' ORDER BY uses DESC LIMIT $2) m \
         JOIN utility_event e ON e.project = m.project AND e.memory = m.key WHERE NOT e.void \
         GROUP BY m.key, m.id, m.task";
    let rows = db.query(select, &params![project, limit]).await?;
    let memories = rows.iter().map(|row| {
        Ok(MemoryTally {
            id: row.get("id")?,
            task: row.get("task")?,
            runs: Rate {
                passed: row.get("passed")?,
                failed: row.get("failed")?,
            },
        })
    });
    memories.collect()
}

/// How far a model agrees with people on the runs of the project that both reviewed.
async fn agreement(db: &Db<'_>, project: &ProjectId, model: &str) -> Result<Agreement, Fault> {
    let mut agreement = Agreement::default();
    let Some(project) = projects::key(db, project).await? else {
        return Ok(agreement);
    };
    let select = "SELECT overruled_model, overruled_verdict, verdict, count(*) AS runs FROM review \
         WHERE project = $1 AND overruled_model = $2 AND state = 'current' GROUP BY 1, 2, 3";
    for row in &db.query(select, &params![project, model]).await? {
        let overruled: Option<ModelVerdict> =
            row.model_verdict("overruled_model", "overruled_verdict")?;
        if let Some(model) = overruled {
            agreement.add(model.result, row.get("verdict")?, row.get("runs")?);
        }
    }
    Ok(agreement)
}
