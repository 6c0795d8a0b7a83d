//! How calls reach Reflect. The client knows only this trait; what stands behind it is HTTP or an
//! engine in the same process.

#[cfg(feature = "embedded")]
mod embedded;
mod http;
mod listing;
mod nowhere;
mod redact;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use reflect_types::{
    ApiKey, CreateApiKey, CreateSkill, CreateTrace, CreatedApiKey, DeleteTraces, DeletedProject,
    DeletedTraces, Health, KeyId, ListTraces, Memory, ProjectId, QueryMemories, Review, Skill,
    Trace, TraceId, TraceReceipt,
};

#[cfg(feature = "embedded")]
pub(crate) use self::embedded::Embedded;
pub(crate) use self::http::{Http, HttpOptions};
pub(crate) use self::nowhere::Nowhere;
use crate::error::Result;

/// Carries each call of the API once; retrying is the client's business.
///
/// All methods run on the client's own I/O thread, inside a tokio runtime.
#[async_trait]
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Whether the other side is up.
    async fn health(&self) -> Result<Health>;

    /// The memories that rank best for a task, best first.
    async fn query_memories(
        &self,
        project: &ProjectId,
        query: &QueryMemories,
    ) -> Result<Vec<Memory>>;

    /// Stores a run, once per idempotency key.
    async fn create_trace(
        &self,
        project: &ProjectId,
        trace: &CreateTrace,
        idempotency_key: &str,
    ) -> Result<TraceReceipt>;

    /// A page of traces, newest first.
    async fn list_traces(&self, project: &ProjectId, which: &ListTraces) -> Result<Vec<Trace>>;

    /// One trace; an unknown id is an error with status 404.
    async fn get_trace(&self, project: &ProjectId, id: &TraceId) -> Result<Trace>;

    /// Judges a stored trace and returns it with the memory that came of it.
    async fn review_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: &Review,
    ) -> Result<Trace>;

    /// Judges a trace otherwise than before.
    async fn change_review(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: &Review,
    ) -> Result<Trace>;

    /// Takes a trace's review back, with all that came of it.
    async fn withdraw_review(&self, project: &ProjectId, id: &TraceId) -> Result<Trace>;

    /// Puts a failed ingestion back into the queue.
    async fn retry_trace(&self, project: &ProjectId, id: &TraceId) -> Result<TraceReceipt>;

    /// Removes traces.
    async fn delete_traces(
        &self,
        project: &ProjectId,
        which: &DeleteTraces,
    ) -> Result<DeletedTraces>;

    /// The project's skill; `None` where none was written yet.
    async fn get_skill(&self, project: &ProjectId) -> Result<Option<Skill>>;

    /// Writes the skill anew.
    async fn create_skill(&self, project: &ProjectId, how: &CreateSkill) -> Result<Skill>;

    /// The project's keys, without their secrets.
    async fn list_api_keys(&self, project: &ProjectId) -> Result<Vec<ApiKey>>;

    /// Makes a key.
    async fn create_api_key(
        &self,
        project: &ProjectId,
        key: &CreateApiKey,
    ) -> Result<CreatedApiKey>;

    /// Ends a key.
    async fn revoke_api_key(&self, project: &ProjectId, id: &KeyId) -> Result<ApiKey>;

    /// Removes the project with all it holds.
    async fn delete_project(&self, project: &ProjectId) -> Result<DeletedProject>;

    /// Which Reflect it reaches, without anything secret: a run that is kept on disk is sent to no
    /// other. `None` tells nothing apart.
    fn server(&self) -> Option<String> {
        None
    }

    /// Lets go of what the transport holds; called once, after the last call.
    async fn close(&self) {}

    /// A twin for a forked child, which must not use its parent's connections; `None` where this
    /// one can be used on.
    fn after_fork(self: Arc<Self>) -> Option<Arc<dyn Transport>> {
        None
    }
}
