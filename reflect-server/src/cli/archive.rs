//! All that a project holds, wherever it is: in a file, or at a server.

use reflect_engine::{ArchivedTrace, Engine, Imported, ListMemories, MemoryHistory, Piece, Stats};
use reflect_types::{MemoryId, ProjectId, Skill, TraceId, path};
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
    pub(super) async fn stats(&self) -> Result<Stats, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.stats(&self.project).await?),
            Source::Server(server) => server.get(&path::stats(&self.project), &[]).await,
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
                server.get(&path::memories(&self.project), &asked).await
            }
        }
    }

    pub(super) async fn memory(&self, id: &MemoryId) -> Result<MemoryHistory, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.get_memory(&self.project, id).await?),
            Source::Server(server) => server.get(&path::memory(&self.project, id), &[]).await,
        }
    }

    /// The next memories in the order they were learned.
    pub(super) async fn memories_after(
        &self,
        after: Option<&MemoryId>,
    ) -> Result<Vec<MemoryHistory>, Failure> {
        let project = &self.project;
        match &self.source {
            Source::File(engine) => Ok(engine.export_memories(project, after, PAGE).await?),
            Source::Server(server) => {
                let path = path::archive(project) + "/memories";
                server.get(&path, &page(after)).await
            }
        }
    }

    /// The next runs in the order they were stored.
    pub(super) async fn traces_after(
        &self,
        after: Option<&TraceId>,
    ) -> Result<Vec<ArchivedTrace>, Failure> {
        let project = &self.project;
        match &self.source {
            Source::File(engine) => Ok(engine.export_traces(project, after, PAGE).await?),
            Source::Server(server) => {
                let path = path::archive(project) + "/traces";
                server.get(&path, &page(after)).await
            }
        }
    }

    pub(super) async fn skill(&self) -> Result<Option<Skill>, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.get_skill(&self.project).await?),
            Source::Server(server) => {
                let skill = server.get(&path::skill(&self.project), &[]).await;
                match skill {
                    Err(failure) if failure.is_not_found() => Ok(None),
                    skill => skill.map(Some),
                }
            }
        }
    }

    pub(super) async fn import(&self, pieces: Vec<Piece>) -> Result<Imported, Failure> {
        match &self.source {
            Source::File(engine) => Ok(engine.import(&self.project, pieces).await?),
            Source::Server(server) => {
                let body = serde_json::to_string(&Pieces { pieces })?;
                server.post(&path::archive(&self.project), body).await
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
