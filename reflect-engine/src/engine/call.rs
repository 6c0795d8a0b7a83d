//! Dispatch of any operation by its request, for callers that share the table of operations.

use reflect_types::{BatchEntry, Health, ProjectId, Reply, Request, TraceReceipt};

use super::handle::Engine;
use crate::error::{Error, Result};

impl Engine {
    /// Carries out any operation of the table of operations.
    ///
    /// The engine has no API keys: their operations are [`Error::NoKeys`].
    pub async fn call(&self, project: &ProjectId, request: &Request) -> Result<Reply> {
        Ok(match request {
            Request::GetHealth(_) => Reply::GetHealth(self.ready().await?),
            Request::QueryMemories(query) => {
                Reply::QueryMemories(self.query_memories(project, query).await?)
            }
            Request::ExplainMemories(explain) => {
                Reply::ExplainMemories(self.explain_memories(project, &explain.0).await?)
            }
            Request::ListMemories(list) => {
                Reply::ListMemories(self.list_memories(project, list).await?)
            }
            Request::GetMemory(get) => {
                Reply::GetMemory(self.get_memory(project, &get.memory_id).await?)
            }
            Request::UpdateMemory(update) => {
                Reply::UpdateMemory(self.update_memory(project, update).await?)
            }
            Request::DeleteMemory(delete) => {
                Reply::DeleteMemory(self.delete_memory(project, &delete.memory_id).await?)
            }
            Request::ListMemoryChanges(list) => {
                Reply::ListMemoryChanges(self.list_memory_changes(project, list).await?)
            }
            Request::CreateTrace(trace) => {
                Reply::CreateTrace(self.create_trace(project, trace.clone()).await?)
            }
            Request::CreateTraces(batch) => {
                let stored = self.create_traces(project, batch.traces.clone()).await?;
                Reply::CreateTraces(stored.into_iter().map(entry).collect())
            }
            Request::ListTraces(list) => Reply::ListTraces(self.list_traces(project, list).await?),
            Request::GetTrace(get) => {
                Reply::GetTrace(self.get_trace(project, &get.trace_id).await?)
            }
            Request::DeleteTraces(delete) => {
                Reply::DeleteTraces(self.delete_traces(project, delete).await?)
            }
            Request::RetryTrace(retry) => {
                Reply::RetryTrace(self.retry_trace(project, &retry.trace_id).await?)
            }
            Request::ReviewTrace(given) => {
                let review = given.review.clone();
                Reply::ReviewTrace(self.review_trace(project, &given.trace_id, review).await?)
            }
            Request::ReviewByKey(by_key) => {
                Reply::ReviewByKey(self.review_by_key(project, by_key.clone()).await?)
            }
            Request::ChangeReview(given) => {
                let review = given.review.clone();
                Reply::ChangeReview(self.change_review(project, &given.trace_id, review).await?)
            }
            Request::WithdrawReview(withdraw) => {
                Reply::WithdrawReview(self.withdraw_review(project, &withdraw.trace_id).await?)
            }
            Request::Undo(undo) => Reply::Undo(self.undo(project, undo).await?),
            Request::ListUndos(list) => Reply::ListUndos(self.list_undos(project, list).await?),
            Request::GetSkill(_) => Reply::GetSkill(self.get_skill(project).await?),
            Request::CreateSkill(create) => {
                Reply::CreateSkill(self.create_skill(project, create).await?)
            }
            Request::ListApiKeys(_) | Request::CreateApiKey(_) | Request::RevokeApiKey(_) => {
                return Err(Error::NoKeys);
            }
            Request::ListProjects(_) => Reply::ListProjects(self.summarize_projects(None).await?),
            Request::GetSettings(_) => Reply::GetSettings(self.settings(project).await?),
            Request::UpdateProject(update) => {
                Reply::UpdateProject(self.update_project(project, update).await?)
            }
            Request::GetStats(_) => Reply::GetStats(self.stats(project).await?),
            Request::GetReport(get) => Reply::GetReport(self.report(project, get).await?),
            Request::DeleteProject(_) => Reply::DeleteProject(self.delete_project(project).await?),
            Request::ExportOverview(_) => {
                Reply::ExportOverview(self.export_overview(project).await?)
            }
            Request::ExportMemories(page) => {
                Reply::ExportMemories(self.export_memories(project, page).await?)
            }
            Request::ExportTraces(page) => {
                Reply::ExportTraces(self.export_traces(project, page).await?)
            }
            Request::ImportProject(import) => {
                Reply::ImportProject(self.import(project, import.pieces.clone()).await?)
            }
        })
    }

    /// The reply of [`health`](Self::health) if the engine runs and its store can be written.
    pub async fn ready(&self) -> Result<Health> {
        let core = self.core();
        core.ensure_running()?;
        core.store.check_writable().await?;
        Ok(self.health())
    }

    /// The reply of a healthy engine, with its version. `embedder` is `building` until all memories have a vector of
    /// its embedder, and then `active`.
    pub fn health(&self) -> Health {
        let embedder = if self.embedding().is_active {
            "active"
        } else {
            "building"
        };
        let fields = [
            ("status", "ok"),
            ("version", env!("CARGO_PKG_VERSION")),
            ("embedder", embedder),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Health(fields.into())
    }
}

fn entry(stored: Result<TraceReceipt>) -> BatchEntry {
    match stored {
        Ok(receipt) => BatchEntry::Receipt(receipt),
        Err(error) => BatchEntry::Error(error.body()),
    }
}
