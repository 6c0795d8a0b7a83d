use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use reflect_engine::{Builder, Engine};
use reflect_types::{
    ApiKey, CreateApiKey, CreateSkill, CreateTrace, CreatedApiKey, DeleteTraces, DeletedProject,
    DeletedTraces, ErrorBody, ErrorCode, Health, KeyId, ListTraces, Memory, ProjectId,
    QueryMemories, Review, Skill, Trace, TraceId, TraceReceipt,
};
use tokio::sync::OnceCell;

use super::Transport;
use super::listing::Listing;
use crate::error::{Error, Result};

/// An engine in the same process, on the client's own I/O thread.
pub(crate) struct Embedded {
    source: Source,
    /// Started by the first call, so that it lives on the thread that the calls run on.
    engine: OnceCell<Engine>,
}

/// Where the engine comes from.
enum Source {
    File(PathBuf),
    Settings(Mutex<Option<Builder>>),
    /// In a forked child: the parent's engine cannot be used, and its settings are spent.
    LeftBehind,
}

impl Embedded {
    /// An engine on the file at `path`.
    pub(crate) fn file(path: PathBuf) -> Self {
        Self::new(Source::File(path))
    }

    /// An engine with settings of its own.
    pub(crate) fn engine(settings: Builder) -> Self {
        Self::new(Source::Settings(Mutex::new(Some(settings))))
    }

    fn new(source: Source) -> Self {
        Self {
            source,
            engine: OnceCell::new(),
        }
    }

    /// Starts the engine, where it was not yet.
    pub(crate) async fn open(&self) -> Result<()> {
        self.started().await.map(drop)
    }

    async fn started(&self) -> Result<&Engine> {
        self.engine.get_or_try_init(|| self.start()).await
    }

    async fn start(&self) -> Result<Engine> {
        let settings = match &self.source {
            Source::File(path) => return Ok(Engine::open_sqlite(path).await?),
            Source::Settings(settings) => {
                let mut settings = settings.lock().unwrap_or_else(PoisonError::into_inner);
                settings.take()
            }
            Source::LeftBehind => None,
        };
        let Some(settings) = settings else {
            let detail = "this engine cannot be started again: make a new client after a failed \
                          start, and in a program that forks make the client after the fork";
            return Err(ErrorBody::new(ErrorCode::Unavailable, detail).into());
        };
        Ok(settings.start()?)
    }
}

#[async_trait]
impl Transport for Embedded {
    async fn health(&self) -> Result<Health> {
        Ok(Health([("status".to_owned(), "ok".to_owned())].into()))
    }

    async fn query_memories(
        &self,
        project: &ProjectId,
        query: &QueryMemories,
    ) -> Result<Vec<Memory>> {
        Ok(self.started().await?.query_memories(project, query).await?)
    }

    async fn create_trace(
        &self,
        project: &ProjectId,
        trace: &CreateTrace,
        idempotency_key: &str,
    ) -> Result<TraceReceipt> {
        Ok(self
            .started()
            .await?
            .create_trace(
                project,
                CreateTrace {
                    idempotency_key: Some(String::from(idempotency_key)),
                    ..trace.clone()
                },
            )
            .await?)
    }

    async fn list_traces(&self, project: &ProjectId, which: &ListTraces) -> Result<Vec<Trace>> {
        let engine = self.started().await?;
        let mut listing = Listing::of(which);
        loop {
            let page = engine.list_traces(project, &listing.rest).await?;
            if !listing.add(page.items, !page.more) {
                return Ok(listing.found());
            }
        }
    }

    async fn get_trace(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        Ok(self.started().await?.get_trace(project, id).await?)
    }

    async fn review_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: &Review,
    ) -> Result<Trace> {
        Ok(self
            .started()
            .await?
            .review_trace(project, id, review.clone())
            .await?)
    }

    async fn change_review(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: &Review,
    ) -> Result<Trace> {
        Ok(self
            .started()
            .await?
            .change_review(project, id, review.clone())
            .await?)
    }

    async fn withdraw_review(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        Ok(self.started().await?.withdraw_review(project, id).await?)
    }

    async fn retry_trace(&self, project: &ProjectId, id: &TraceId) -> Result<TraceReceipt> {
        Ok(self.started().await?.retry_trace(project, id).await?)
    }

    async fn delete_traces(
        &self,
        project: &ProjectId,
        which: &DeleteTraces,
    ) -> Result<DeletedTraces> {
        Ok(self.started().await?.delete_traces(project, which).await?)
    }

    async fn get_skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        Ok(self.started().await?.get_skill(project).await?)
    }

    async fn create_skill(&self, project: &ProjectId, how: &CreateSkill) -> Result<Skill> {
        Ok(self.started().await?.create_skill(project, how).await?)
    }

    async fn list_api_keys(&self, _: &ProjectId) -> Result<Vec<ApiKey>> {
        Err(no_keys())
    }

    async fn create_api_key(&self, _: &ProjectId, _: &CreateApiKey) -> Result<CreatedApiKey> {
        Err(no_keys())
    }

    async fn revoke_api_key(&self, _: &ProjectId, _: &KeyId) -> Result<ApiKey> {
        Err(no_keys())
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<DeletedProject> {
        Ok(self.started().await?.delete_project(project).await?)
    }

    fn after_fork(self: Arc<Self>) -> Option<Arc<dyn Transport>> {
        // Neither SQLite's connections nor the engine's threads survive a fork. Even opening the
        // file anew is not safe: SQLite thinks that this process still holds its parent's locks.
        Some(Arc::new(Self::new(match &self.source {
            Source::File(path) if self.engine.get().is_none() => Source::File(path.clone()),
            _ => Source::LeftBehind,
        })))
    }

    fn server(&self) -> Option<String> {
        Some(match &self.source {
            // As it is spelled from the root: the file may not be there yet, so that links cannot
            // be followed. Where even that is not to be had, the engine cannot open it either.
            Source::File(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                format!("embedded:{}", path.display())
            }
            // What its store is nobody can tell.
            Source::Settings(_) | Source::LeftBehind => "embedded".to_owned(),
        })
    }

    async fn close(&self) {
        let Some(engine) = self.engine.get() else {
            return;
        };
        // The data is safe either way; this only lets go of what the engine was working on.
        if let Err(error) = engine.shutdown().await {
            tracing::warn!(target: "reflect", %error, "the engine did not end cleanly");
        }
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.source {
            Source::File(path) => path.display().to_string(),
            Source::Settings(_) => "an engine with settings of its own".to_owned(),
            Source::LeftBehind => "an engine left behind by a fork".to_owned(),
        };
        f.debug_struct("Embedded")
            .field("place", &place)
            .finish_non_exhaustive()
    }
}

impl From<reflect_engine::Error> for Error {
    fn from(error: reflect_engine::Error) -> Self {
        Self::from(error.body())
    }
}

fn no_keys() -> Error {
    let detail = "an embedded client has no API keys, because whoever can open its file may do \
                  everything: keys belong to a server";
    ErrorBody::new(ErrorCode::NotFound, detail).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_a_server_of_its_own_however_it_is_named() {
        let server = |path: &str| Embedded::file(path.into()).server().unwrap();
        assert_ne!(server("staging.db"), server("production.db"));
        let folder = std::env::current_dir().unwrap();
        let whole = folder.join("staging.db");
        assert_eq!(server("./staging.db"), server(whole.to_str().unwrap()));
        let other = folder.join("elsewhere").join("staging.db");
        assert_ne!(server("staging.db"), server(other.to_str().unwrap()));
        let settings = Embedded::engine(Engine::builder()).server();
        assert_eq!(settings.as_deref(), Some("embedded"));
    }
}
