//! The SDK transport to a database file.

use async_trait::async_trait;
use reflect_sdk::{Error, Result, Transport};
use reflect_server::keys::Keys;
use reflect_types::{
    ApiKey, CreateApiKey, CreateSkill, CreateTrace, CreatedApiKey, DeleteTraces, DeletedProject,
    DeletedTraces, Health, KeyId, ListTraces, Memory, ProjectId, QueryMemories, Review, Skill,
    Trace, TraceId, TraceReceipt,
};

use crate::file::File;

/// A database file as an SDK transport.
#[derive(Debug)]
pub(crate) struct Local(pub(super) File);

impl Local {
    async fn keys(&self) -> Result<Keys> {
        self.0.keys().await.map_err(|error| refused(&error))
    }
}

fn refused(error: &reflect_engine::Error) -> Error {
    Error::from(error.body())
}

#[async_trait]
impl Transport for Local {
    async fn health(&self) -> Result<Health> {
        Ok(Health([("status".to_owned(), "ok".to_owned())].into()))
    }

    async fn query_memories(
        &self,
        project: &ProjectId,
        query: &QueryMemories,
    ) -> Result<Vec<Memory>> {
        let found = self.0.engine.query_memories(project, query).await;
        found.map_err(|error| refused(&error))
    }

    async fn create_trace(
        &self,
        project: &ProjectId,
        trace: &CreateTrace,
        idempotency_key: &str,
    ) -> Result<TraceReceipt> {
        let engine = &self.0.engine;
        let stored = engine
            .create_trace(
                project,
                CreateTrace {
                    idempotency_key: Some(String::from(idempotency_key)),
                    ..trace.clone()
                },
            )
            .await;
        stored.map_err(|error| refused(&error))
    }

    async fn list_traces(&self, project: &ProjectId, which: &ListTraces) -> Result<Vec<Trace>> {
        let page = self.0.engine.list_traces(project, which).await;
        page.map(|page| page.items).map_err(|error| refused(&error))
    }

    async fn get_trace(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        let trace = self.0.engine.get_trace(project, id).await;
        trace.map_err(|error| refused(&error))
    }

    async fn review_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: &Review,
    ) -> Result<Trace> {
        let judged = self
            .0
            .engine
            .review_trace(project, id, review.clone())
            .await;
        judged.map_err(|error| refused(&error))
    }

    async fn change_review(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: &Review,
    ) -> Result<Trace> {
        let engine = &self.0.engine;
        let judged = engine.change_review(project, id, review.clone()).await;
        judged.map_err(|error| refused(&error))
    }

    async fn withdraw_review(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        let withdrawn = self.0.engine.withdraw_review(project, id).await;
        withdrawn.map_err(|error| refused(&error))
    }

    async fn retry_trace(&self, project: &ProjectId, id: &TraceId) -> Result<TraceReceipt> {
        let queued = self.0.engine.retry_trace(project, id).await;
        queued.map_err(|error| refused(&error))
    }

    async fn delete_traces(
        &self,
        project: &ProjectId,
        which: &DeleteTraces,
    ) -> Result<DeletedTraces> {
        let gone = self.0.engine.delete_traces(project, which).await;
        gone.map_err(|error| refused(&error))
    }

    async fn get_skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        let skill = self.0.engine.get_skill(project).await;
        skill.map_err(|error| refused(&error))
    }

    async fn create_skill(&self, project: &ProjectId, how: &CreateSkill) -> Result<Skill> {
        let skill = self.0.engine.create_skill(project, how).await;
        skill.map_err(|error| refused(&error))
    }

    async fn list_api_keys(&self, project: &ProjectId) -> Result<Vec<ApiKey>> {
        let listed = match self.0.existing_keys().await {
            Ok(Some(keys)) => keys.list(Some(project)).await,
            Ok(None) => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        listed.map_err(|error| refused(&error))
    }

    async fn create_api_key(
        &self,
        project: &ProjectId,
        key: &CreateApiKey,
    ) -> Result<CreatedApiKey> {
        let keys = self.keys().await?;
        let created = keys.create(&self.0.engine, project, key.clone()).await;
        created.map_err(|error| refused(&error))
    }

    async fn revoke_api_key(&self, project: &ProjectId, id: &KeyId) -> Result<ApiKey> {
        let revoked = self.keys().await?.revoke(Some(project), id).await;
        revoked.map_err(|error| refused(&error))
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<DeletedProject> {
        let gone = self.0.engine.delete_project(project).await;
        let mut gone = gone.map_err(|error| refused(&error))?;
        let keys = self.keys().await?.delete_project(project).await;
        gone.deleted |= keys.map_err(|error| refused(&error))?;
        Ok(gone)
    }
}
