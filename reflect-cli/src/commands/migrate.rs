//! Copying projects and their keys from one database to another.

use clap::Args;
use indicatif::ProgressBar;
use reflect_engine::Engine;
use reflect_types::{
    ExportMemories, ExportOverview, ExportTraces, ImportReport, ListUndos, Overview, Piece,
    ProjectId, UndoRecord, UpdateProject,
};
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
    let mut overviews = Vec::with_capacity(projects.len());
    for project in projects {
        let overview = from.engine.export_overview(&project).await?;
        overviews.push((project, overview));
    }
    let records = |overview: &Overview| overview.stats.memories + overview.stats.traces;
    let progress = output::bar(
        overviews
            .iter()
            .map(|(_, overview)| records(overview))
            .sum(),
    );
    let mut copied = Copied::default();
    for (project, overview) in &overviews {
        let copy = Copy {
            project,
            from: &from.engine,
            to: &to.engine,
            progress: &progress,
        };
        copy.all(overview, &mut copied.pieces).await?;
        copied.projects += 1;
    }
    progress.finish_and_clear();
    copied.keys = copy_keys(from, to, only).await?;
    Ok(copied)
}

/// The copy of one project.
struct Copy<'a> {
    project: &'a ProjectId,
    from: &'a Engine,
    to: &'a Engine,
    progress: &'a ProgressBar,
}

impl Copy<'_> {
    async fn all(&self, overview: &Overview, total: &mut ImportReport) -> Result<(), Failure> {
        self.to.create_project(self.project).await?;
        self.settings().await?;
        self.memories(total).await?;
        self.traces(total).await?;
        let skill = overview.skill.iter().cloned().map(Piece::Skill);
        self.store(skill.collect(), total).await?;
        let undos = self.undos().await?.into_iter();
        let undos: Vec<Piece> = undos.map(|undo| Piece::Undo(Box::new(undo))).collect();
        for part in undos.chunks(PAGE as usize) {
            self.store(part.to_vec(), total).await?;
        }
        // Pages are read separately: a change in between may be in one page and not in another.
        if self.from.export_overview(self.project).await? != *overview {
            return Err(Failure::conflict(format!(
                "project `{0}` changed while it was copied, so its copy may be incomplete: stop the \
                 servers of FROM, delete the project in TO and migrate again",
                self.project
            )));
        }
        Ok(())
    }

    async fn settings(&self) -> Result<(), Failure> {
        let update = UpdateProject::from(self.from.settings(self.project).await?);
        self.to.update_project(self.project, &update).await?;
        Ok(())
    }

    async fn memories(&self, total: &mut ImportReport) -> Result<(), Failure> {
        let mut page = ExportMemories {
            limit: Some(PAGE),
            after: None,
        };
        loop {
            let memories = self.from.export_memories(self.project, &page).await?;
            let Some(last) = memories.last() else {
                return Ok(());
            };
            page.after = Some(last.history.memory.id.clone());
            let pieces = memories
                .into_iter()
                .map(|memory| Piece::Memory(memory.into()));
            self.store(pieces.collect(), total).await?;
        }
    }

    async fn traces(&self, total: &mut ImportReport) -> Result<(), Failure> {
        let mut page = ExportTraces {
            limit: Some(PAGE),
            after: None,
        };
        loop {
            let traces = self.from.export_traces(self.project, &page).await?;
            let Some(last) = traces.last() else {
                return Ok(());
            };
            page.after = Some(last.trace.id.clone());
            let pieces = traces.into_iter().map(|trace| Piece::Trace(trace.into()));
            self.store(pieces.collect(), total).await?;
        }
    }

    /// All records of undos, oldest first.
    async fn undos(&self) -> Result<Vec<UndoRecord>, Failure> {
        let mut list = ListUndos {
            limit: Some(ListUndos::MAX_LIMIT),
            before: None,
        };
        let mut records: Vec<UndoRecord> = Vec::new();
        loop {
            let page = self.from.list_undos(self.project, &list).await?;
            list.before = page.cursor().map(|record| record.id.clone());
            records.extend(page.items);
            if list.before.is_none() {
                records.reverse();
                return Ok(records);
            }
        }
    }

    async fn store(&self, pieces: Vec<Piece>, total: &mut ImportReport) -> Result<(), Failure> {
        if pieces.is_empty() {
            return Ok(());
        }
        let count = pieces.len() as u64;
        let stored = self.to.import(self.project, pieces).await?;
        total.stored += stored.stored;
        total.present += stored.present;
        self.progress.inc(count);
        Ok(())
    }
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
