//! All that a project holds, wherever it is: in a file, or at a server.

use reflect_engine::{
    ArchivedTrace, Engine, ImportReport, ListMemories, MemoryHistory, Overview, Piece,
};
use reflect_types::{
    ExportMemories, ExportOverview, ExportTraces, GetMemory, MemoryId, Operation as _, ProjectId,
    TraceId,
};
use serde::Serialize;

use super::failure::Failure;
use super::remote::Remote;

/// How many pieces are read at once.
const PAGE: usize = 50;

/// A project of a file or of a server.
#[derive(Debug)]
pub(super) struct Archive {
    pub(super) project: ProjectId,
    pub(super) source: Source,
}

/// Where a project is.
#[derive(Debug)]
pub(super) enum Source {
    File(Engine),
    Server(Remote),
}

/// What a server is sent.
#[derive(Serialize)]
struct Pieces {
    pieces: Vec<Piece>,
}

impl Archive {
    /// What the project holds beside memories and runs; a project that is not there is told so.
    pub(super) async fn overview(&self) -> Result<Overview, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.export_overview(&self.project).await?),
            Source::Server(server) => server.get(&ExportOverview.path(&self.project), &[]).await,
        }
    }

    pub(super) async fn list_memories(
        &self,
        list: &ListMemories,
    ) -> Result<Vec<MemoryHistory>, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.list_memories(&self.project, list).await?.memories),
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

    pub(super) async fn memory(&self, id: &MemoryId) -> Result<MemoryHistory, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.get_memory(&self.project, id).await?),
            Source::Server(server) => {
                server
                    .get(&GetMemory::new(id).path(&self.project), &[])
                    .await
            }
        }
    }

    /// The next memories in the order they were learned.
    pub(super) async fn memories_after(
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
        page.map_err(lost)
    }

    /// The next runs in the order they were stored.
    pub(super) async fn traces_after(
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
        page.map_err(lost)
    }

    pub(super) async fn import(&self, pieces: Vec<Piece>) -> Result<ImportReport, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.import(&self.project, pieces).await?),
            Source::Server(server) => {
                let body = serde_json::to_string(&Pieces { pieces })?;
                server.post(&ExportOverview.path(&self.project), body).await
            }
        }
    }

    /// Lets go of the file.
    pub(super) async fn close(self) -> Result<(), Failure> {
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

/// What an export that others got in the way of ends with.
pub(super) fn changed() -> Failure {
    Failure::conflict("the project changed while it was exported: export it again when it is quiet")
}

/// The only thing that can be wrong with a page is where it begins: at what was deleted meanwhile.
fn lost(failure: Failure) -> Failure {
    if failure.is_usage() {
        changed()
    } else {
        failure
    }
}
