//! Runs within runs.

use std::collections::{HashMap, HashSet};

use reflect_types::{ProjectId, TraceId, TraceOverview, TraceTree, TreeRun};

use super::browse::{columns, overview};
use super::db::Db;
use super::fault::Fault;
use super::projects;
use super::row::Row;
use super::traces::CURRENT;
use super::value::params;

/// A run, as others name it.
struct Run {
    key: i64,
    id: Option<String>,
    parent: Option<String>,
    trace: TraceOverview,
}

/// A trace with the runs that it is a part of, and those within it. Recorders name parents as they like: a run that is
/// within itself is shown once.
pub(super) async fn around(
    db: &Db<'_>,
    project: &ProjectId,
    id: &TraceId,
) -> Result<Option<TraceTree>, Fault> {
    let Some(project) = projects::key(db, project).await? else {
        return Ok(None);
    };
    let Some(run) = find(db, project, "t.id = $2", id.as_str()).await? else {
        return Ok(None);
    };
    let (mut tree, mut seen) = (TraceTree::default(), HashSet::from([run.key]));
    let mut above = Vec::new();
    while let Some(id) = above.last().unwrap_or(&run).parent.clone() {
        let Some(found) = find(db, project, "t.idempotency_key = $2", &id).await? else {
            tree.missing_run_id = Some(id);
            break;
        };
        tree.more = above.len() == TraceTree::MAX_ABOVE;
        if tree.more || !seen.insert(found.key) {
            break;
        }
        above.push(found);
    }
    let mut within = within(db, project, run.id.clone(), seen, &mut tree.more).await?;
    let mut depth = 0;
    for run in above.into_iter().rev() {
        let trace = run.trace;
        tree.runs.push(TreeRun { depth, trace });
        depth += 1;
    }
    let mut open = vec![(depth, run)];
    while let Some((depth, run)) = open.pop() {
        let children = run.id.and_then(|id| within.remove(&id)).unwrap_or_default();
        open.extend(children.into_iter().rev().map(|child| (depth + 1, child)));
        let trace = run.trace;
        tree.runs.push(TreeRun { depth, trace });
    }
    Ok(Some(tree))
}

/// The runs below one, by the run that they are a part of, oldest first.
async fn within(
    db: &Db<'_>,
    project: i64,
    run: Option<String>,
    mut seen: HashSet<i64>,
    more: &mut bool,
) -> Result<HashMap<String, Vec<Run>>, Fault> {
    // One more than there is room for, even if all that were seen are among them.
    let most = TraceTree::MAX_ABOVE + TraceTree::MAX_WITHIN + 2;
    let (mut within, mut room) = (HashMap::<String, Vec<Run>>::new(), TraceTree::MAX_WITHIN);
    let mut parents = Vec::from_iter(run);
    while !parents.is_empty() {
        let select = select("t.parent_run_id = ANY($2) ORDER BY t.key LIMIT $3");
        let names: Vec<&str> = parents.iter().map(String::as_str).collect();
        let rows = db.query(&select, &params![project, names, most]).await?;
        let mut next = Vec::new();
        for row in &rows {
            let run = read(row)?;
            let Some(parent) = run.parent.clone().filter(|_| seen.insert(run.key)) else {
                continue;
            };
            if room == 0 {
                *more = true;
                return Ok(within);
            }
            room -= 1;
            next.extend(run.id.clone());
            within.entry(parent).or_default().push(run);
        }
        parents = next;
    }
    Ok(within)
}

async fn find(
    db: &Db<'_>,
    project: i64,
    condition: &str,
    value: &str,
) -> Result<Option<Run>, Fault> {
    let found = db
        .first(&select(condition), &params![project, value])
        .await?;
    found.as_ref().map(read).transpose()
}

fn select(condition: &str) -> String {
    format!(
        "SELECT t.key, t.idempotency_key, t.parent_run_id, {} FROM trace t {CURRENT} \
         WHERE t.project = $1 AND {condition}",
        columns()
    )
}

fn read(row: &Row) -> Result<Run, Fault> {
    Ok(Run {
        key: row.get("key")?,
        id: row.get("idempotency_key")?,
        parent: row.get("parent_run_id")?,
        trace: overview(row)?,
    })
}
