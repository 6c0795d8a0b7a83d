//! A whole project, in a file or on a server.

use reflect_engine::Engine;
use reflect_types::{
    ArchivedTrace, ExportMemories, ExportOverview, ExportTraces, GetMemory, ImportReport,
    ListMemories, MemoryHistory, MemoryId, Operation as _, Overview, Piece, ProjectId, TraceId,
};
use serde::Serialize;

use crate::failure::Failure;
use crate::remote::Remote;

/// Records per page.
const PAGE: usize = 50;

/// A project and its source.
#[derive(Debug)]
pub(crate) struct Archive {
    pub(crate) project: ProjectId,
    pub(crate) source: Source,
}

/// The file or server that holds a project.
#[derive(Debug)]
pub(crate) enum Source {
    File(Engine),
    Server(Remote),
}

/// The body of an import request.
#[derive(Serialize)]
struct Pieces {
    pieces: Vec<Piece>,
}

impl Archive {
    /// The project's totals and skill. A missing project is an error.
    pub(crate) async fn overview(&self) -> Result<Overview, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.export_overview(&self.project).await?),
            Source::Server(server) => server.get(&ExportOverview.path(&self.project), &[]).await,
        }
    }

    pub(crate) async fn list_memories(
        &self,
        list: &ListMemories,
    ) -> Result<Vec<MemoryHistory>, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.list_memories(&self.project, list).await?.items),
            Source::Server(server) => {
                let limit = list.limit.map(|limit| ("limit", limit.to_string()));
                let before = list.before.as_ref().map(|id| ("before", id.to_string()));
                let asked: Vec<_> = limit.into_iter().chain(before).collect();
                server
                    .get(&ListMemories::default().path(&self.project), &asked)
                    .await
            }
        }
    }

    pub(crate) async fn memory(&self, id: &MemoryId) -> Result<MemoryHistory, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.get_memory(&self.project, id).await?),
            Source::Server(server) => {
                server
                    .get(&GetMemory::new(id).path(&self.project), &[])
                    .await
            }
        }
    }

    /// The next page of memories, oldest first.
    pub(crate) async fn memories_after(
        &self,
        after: Option<&MemoryId>,
    ) -> Result<Vec<MemoryHistory>, Failure> {
        let project = &self.project;
        let page = match &self.source {
            Source::File(engine) => {
                let page = engine.export_memories(project, after, PAGE).await;
                page.map_err(Failure::from)
            }
            Source::Server(server) => {
                let path = ExportMemories::default().path(project);
                server.get(&path, &page(after)).await
            }
        };
        page.map_err(deleted_cursor)
    }

    /// The next page of traces, oldest first.
    pub(crate) async fn traces_after(
        &self,
        after: Option<&TraceId>,
    ) -> Result<Vec<ArchivedTrace>, Failure> {
        let project = &self.project;
        let page = match &self.source {
            Source::File(engine) => {
                let page = engine.export_traces(project, after, PAGE).await;
                page.map_err(Failure::from)
            }
            Source::Server(server) => {
                let path = ExportTraces::default().path(project);
                server.get(&path, &page(after)).await
            }
        };
        page.map_err(deleted_cursor)
    }

    pub(crate) async fn import(&self, pieces: Vec<Piece>) -> Result<ImportReport, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.import(&self.project, pieces).await?),
            Source::Server(server) => {
                let body = serde_json::to_string(&Pieces { pieces })?;
                server.post(&ExportOverview.path(&self.project), body).await
            }
        }
    }

    /// Closes the file.
    pub(crate) async fn close(self) -> Result<(), Failure> {
        match self.source {
            Source::File(engine) => Ok(engine.shutdown().await?),
            Source::Server(_) => Ok(()),
        }
    }
}

fn page(after: Option<&impl ToString>) -> Vec<(&'static str, String)> {
    let limit = [("limit", PAGE.to_string())];
    let after = after.map(|id| ("after", id.to_string()));
    limit.into_iter().chain(after).collect()
}

/// The failure of an export during which the project changed.
pub(crate) fn changed() -> Failure {
    Failure::conflict("the project changed during the export: retry when it is quiet")
}

/// Maps a refused page to [`changed`]: only a deleted cursor makes a page invalid.
fn deleted_cursor(failure: Failure) -> Failure {
    if failure.is_usage() {
        changed()
    } else {
        failure
    }
}
