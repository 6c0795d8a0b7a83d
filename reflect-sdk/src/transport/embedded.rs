use std::fmt;

use async_trait::async_trait;
use reflect_engine::Engine;
use reflect_types::{
    ApiKey, CreateApiKey, CreateSkill, CreateTrace, CreatedApiKey, DeleteTraces, DeletedProject,
    DeletedTraces, ErrorBody, ErrorCode, Health, KeyId, ListTraces, Memory, ProjectId,
    QueryMemories, Review, Skill, Trace, TraceId, TraceReceipt,
};

use super::Transport;
use crate::error::{Error, Result};

/// An engine in the same process, on the client's own I/O thread.
pub(crate) struct Embedded {
    engine: Engine,
    /// Where it keeps its data, for `Debug`.
    place: String,
}

impl Embedded {
    pub(crate) fn new(engine: Engine, place: String) -> Self {
        Self { engine, place }
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
        Ok(self.engine.query_memories(project, query).await?)
    }

    async fn create_trace(
        &self,
        project: &ProjectId,
        trace: &CreateTrace,
        idempotency_key: &str,
    ) -> Result<TraceReceipt> {
        Ok(self
            .engine
            .create_trace(project, trace.clone(), Some(idempotency_key))
            .await?)
    }

    async fn list_traces(&self, project: &ProjectId, which: &ListTraces) -> Result<Vec<Trace>> {
        Ok(self.engine.list_traces(project, which).await?.traces)
    }

    async fn get_trace(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        Ok(self.engine.get_trace(project, id).await?)
    }

    async fn review_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: &Review,
    ) -> Result<Trace> {
        Ok(self
            .engine
            .review_trace(project, id, review.clone())
            .await?)
    }

    async fn retry_trace(&self, project: &ProjectId, id: &TraceId) -> Result<TraceReceipt> {
        Ok(self.engine.retry_trace(project, id).await?)
    }

    async fn delete_traces(
        &self,
        project: &ProjectId,
        which: &DeleteTraces,
    ) -> Result<DeletedTraces> {
        Ok(self.engine.delete_traces(project, which).await?)
    }

    async fn get_skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        Ok(self.engine.get_skill(project).await?)
    }

    async fn create_skill(&self, project: &ProjectId, how: &CreateSkill) -> Result<Skill> {
        Ok(self.engine.create_skill(project, how).await?)
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
        Ok(self.engine.delete_project(project).await?)
    }

    async fn close(&self) {
        // The data is safe either way; this only lets go of what the engine was working on.
        if let Err(error) = self.engine.shutdown().await {
            tracing::warn!(target: "reflect", %error, "the engine did not end cleanly");
        }
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Embedded")
            .field("place", &self.place)
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
