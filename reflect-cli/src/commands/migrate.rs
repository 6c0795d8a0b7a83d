//! Copying projects and their keys from one database to another.

use clap::Args;
use reflect_types::{ExportOverview, ImportReport, ProjectId, UpdateProject};
use serde::Serialize;

use crate::data::{Connections, Data, DataParser};
use crate::failure::Failure;
use crate::file::File;
use crate::models::Models;
use crate::{output, project};

/// Records per transaction.
const PAGE: u32 = ExportOverview::MAX_LIMIT;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The database to copy from: a file, or a PostgreSQL address. No server may write to it meanwhile.
    #[arg(value_parser = DataParser)]
    from: Data,
    /// The database to copy to: a file, or a PostgreSQL address. It is created if missing.
    #[arg(value_parser = DataParser)]
    to: Data,
    #[command(flatten)]
    connections: Connections,
    /// Only this project, and its keys.
    #[arg(long)]
    project: Option<String>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What was copied.
#[derive(Debug, Default, Serialize)]
struct Copied {
    projects: u64,
    /// Memories, traces, skills and undos.
    #[serde(flatten)]
    pieces: ImportReport,
    keys: u64,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Options {
        from,
        to,
        connections,
        project,
        json,
    } = options;
    if from.is_same(&to) {
        return Err(Failure::usage("FROM and TO are the same database"));
    }
    let otherwise = "write the path of the database to copy, or its postgres:// address, before that of the copy";
    from.existing(otherwise)
        .map_err(|failure| failure.at("FROM"))?;
    let name = from.to_string();
    let from = File::open(&from, connections, &Models::default()).await?;
    let project = project.map(ProjectId::from);
    let projects = from.engine.list_projects().await?;
    // Before the other one is created.
    if let Some(missing) = project.as_ref().filter(|id| !projects.contains(id)) {
        let problem = project::absence(missing, &projects, format_args!("in {name}"));
        let problem = problem.unwrap_or_else(|| format!("{name} has no projects yet"));
        return Err(Failure::not_found(problem));
    }
    let to = File::open(&to, connections, &Models::default()).await?;
    let copied = copy(&from, &to, projects, project.as_ref()).await;
    // A failure to close is worth less than what was copied, or why not.
    let _ = from.engine.shutdown().await;
    to.engine.shutdown().await?;
    let copied = copied?;
    if json {
        return output::json(&copied);
    }
    let Copied {
        projects,
        pieces: ImportReport { stored, present },
        keys,
    } = copied;
    output::say(format_args!(
        "{}: {} stored, {present} already present; {} copied",
        output::counted(projects, "project"),
        output::counted(stored, "record"),
        output::counted(keys, "key"),
    ))
}

/// Copies these projects, or only one of them.
async fn copy(
    from: &File,
    to: &File,
    mut projects: Vec<ProjectId>,
    only: Option<&ProjectId>,
) -> Result<Copied, Failure> {
    projects.retain(|project| only.is_none_or(|only| only == project));
    let mut exports = Vec::with_capacity(projects.len());
    for project in projects {
        let export = from.engine.export(&project, PAGE).await?;
        exports.push((project, export));
    }
    let stats = exports.iter().map(|(_, export)| export.overview().stats);
    let progress = output::bar(stats.map(|stats| stats.memories + stats.traces).sum());
    let mut copied = Copied::default();
    for (project, mut export) in exports {
        to.engine.create_project(&project).await?;
        let update = UpdateProject::from(from.engine.settings(&project).await?);
        to.engine.update_project(&project, &update).await?;
        loop {
            let pieces = export.next().await;
            let pieces = pieces.map_err(|error| cut_off(&project, error))?;
            if pieces.is_empty() {
                break;
            }
            progress.inc(pieces.len() as u64);
            let stored = to.engine.import(&project, pieces).await?;
            copied.pieces.stored += stored.stored;
            copied.pieces.present += stored.present;
        }
        copied.projects += 1;
    }
    progress.finish_and_clear();
    copied.keys = copy_keys(from, to, only).await?;
    Ok(copied)
}

fn cut_off(project: &ProjectId, error: reflect_engine::Error) -> Failure {
    let failure = Failure::from(error);
    if !failure.is_conflict() {
        return failure;
    }
    Failure::conflict(format!(
        "project `{project}` changed while it was copied, so its copy may be incomplete: stop the servers of \
         FROM, delete the project in TO and migrate again"
    ))
}

/// Copies the keys that the other database does not have: those of a project, or all.
async fn copy_keys(from: &File, to: &File, only: Option<&ProjectId>) -> Result<u64, Failure> {
    // Without keys, the next server on TO still has to find that it is the first.
    let Some(source) = from.opened.existing_keys().await? else {
        return Ok(0);
    };
    let owners = if let Some(project) = only {
        vec![Some(project.clone())]
    } else {
        let projects = source.projects().await?.into_iter().map(Some);
        std::iter::once(None).chain(projects).collect()
    };
    let mut records = Vec::new();
    for owner in owners {
        records.extend(source.list(owner.as_ref()).await?);
    }
    if records.is_empty() {
        return Ok(0);
    }
    let target = to.opened.keys().await?;
    let mut copied = 0;
    for record in records {
        if target.find(&record.key.public_id).await?.is_none() {
            target.insert(record).await?;
            copied += 1;
        }
    }
    Ok(copied)
}
