//! What people look through: traces without their long fields.

use async_trait::async_trait;
use reflect_types::{
    MemoryId, MemoryRecord, ModelVerdict, Page, ProjectId, TraceId, TraceOverview, TraceTree,
};

use super::MemoryKey;
use crate::error::Result;

/// The part of a store that lists for people. Part of [`Store`](super::Store).
#[async_trait]
pub trait Browse {
    /// A page of the traces that match a search, newest first. Fails with
    /// [`Error::Invalid`](crate::Error::Invalid) if `before` names no trace.
    async fn browse_traces(
        &self,
        project: &ProjectId,
        search: &TraceSearch,
    ) -> Result<Page<TraceOverview>>;

    /// A trace with the runs that it is a part of, and those within it.
    async fn trace_tree(&self, project: &ProjectId, id: &TraceId) -> Result<Option<TraceTree>>;

    /// The models of the project's traces, sorted, at most [`TraceSearch::MAX_MODELS`].
    async fn trace_models(&self, project: &ProjectId) -> Result<Vec<String>>;

    /// The number of traces without a review, at most [`TraceSearch::MAX_COUNTED`].
    async fn count_waiting(&self, project: &ProjectId) -> Result<u64>;

    /// The newest traces without a review, and the newest ones that only a model has reviewed: at most
    /// `limit` of each.
    async fn waiting_traces(&self, project: &ProjectId, limit: usize) -> Result<Vec<WaitingTrace>>;

    /// The memories of these ids with their keys, in the order of the ids, without those that are deleted
    /// or withdrawn.
    async fn find_memories(
        &self,
        project: &ProjectId,
        ids: &[MemoryId],
    ) -> Result<Vec<(MemoryKey, MemoryRecord)>>;
}

/// Which traces to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceSearch {
    /// The beginnings of words that the task has; blank for any task.
    pub text: String,
    /// Only traces of this kind.
    pub filter: Option<TraceFilter>,
    /// Only traces of this model.
    pub model: Option<String>,
    /// Only traces of this session.
    pub session: Option<String>,
    /// Only traces older than this one.
    pub before: Option<TraceId>,
    /// The length of a page; 0 for the default.
    pub limit: usize,
}

impl TraceSearch {
    /// The default length of a page.
    pub const DEFAULT_LIMIT: usize = 50;
    /// The maximum length of a page.
    pub const MAX_LIMIT: usize = 1_000;
    /// Traces without a review are counted up to here: a page says that there are more.
    pub const MAX_COUNTED: u64 = 1_000;
    /// The most models that a list of them has.
    pub const MAX_MODELS: usize = 200;
}

/// A kind of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFilter {
    /// It has no review.
    Waiting,
    /// Its review is a pass.
    Passed,
    /// Its review is a fail.
    Failed,
    /// A model has reviewed it, and no person.
    Judged,
    /// Nothing could be learned from its review.
    NotLearned,
}

/// A trace that waits for a person's review.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingTrace {
    /// The trace.
    pub trace: TraceOverview,
    /// A model's verdict, which a person confirms or replaces.
    pub suggestion: Option<ModelVerdict>,
    /// The memories it was given that still exist.
    pub memories: Vec<UsedMemory>,
}

/// What is known about a memory that a trace was given.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedMemory {
    /// The memory.
    pub id: MemoryId,
    /// Its utility.
    pub q_value: f64,
    /// The number of reviewed runs that were given it.
    pub uses: u64,
}
