use std::mem;

use reflect_types::{
    Arm, AuthoredReflection, CreateTrace, DeleteMemory, ExplainMemories, GetMemory, InvalidField,
    ListMemories, ListMemoryChanges, MemoryId, MemoryStatus, MemoryUpdate, QueryMemories, Ranking,
    ReflectionEdit, Review, TraceReceipt, Trajectory, UpdateMemory, Validate, Verdict,
};
use serde_json::Value;

use super::ReflectClient;
use super::augment::{AugmentedTask, PromptStyle};
use super::call::{Action, Call, CallContext, options};
use super::create_trace::idempotency_key;
use super::query::{QueryOptions, query_setters};
use crate::error::Result;

impl<M> ReflectClient<M> {
    /// The memories that rank best for a task, by similarity and proven utility, best first.
    ///
    /// ```no_run
    /// use reflect_sdk::{Memory, ReflectClient};
    ///
    /// async fn recall(client: &ReflectClient) -> reflect_sdk::Result<Vec<Memory>> {
    ///     client
    ///         .query_memories("Refund order 7")
    ///         .limit(3)
    ///         .lambda(0.3)
    ///         .metadata_filter("customer", "acme")
    ///         .await
    /// }
    /// ```
    pub fn query_memories(&self, task: impl Into<String>) -> Call<QueryMemories, M> {
        self.call(QueryMemories::new(task))
    }

    /// The task with retrieved memories as one text for a prompt.
    pub fn augment_with_memories(&self, task: impl Into<String>) -> Call<AugmentWithMemories, M> {
        self.call(AugmentWithMemories {
            query: QueryMemories::new(task),
            style: PromptStyle::Full,
            control_share: None,
        })
    }

    /// Memories with the history of their utility, newest first.
    pub fn list_memories(&self) -> Call<ListMemories, M> {
        self.call(ListMemories::default())
    }

    /// One memory with the history of its utility and its changes.
    pub fn get_memory(&self, memory: impl Into<MemoryId>) -> Call<GetMemory, M> {
        self.call(GetMemory::new(memory))
    }

    /// Edits, quarantines or restores a memory. At least one of them must be set. A quarantined memory
    /// is left out of queries and skills, but keeps learning.
    ///
    /// ```no_run
    /// use reflect_sdk::ReflectClient;
    ///
    /// async fn set_aside(client: &ReflectClient, id: &str) -> reflect_sdk::Result<()> {
    ///     client.update_memory(id).quarantine().note("out of date").await?;
    ///     client.update_memory(id).guidance("Check the date first").restore().await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn update_memory(&self, memory: impl Into<MemoryId>) -> Call<UpdateMemory, M> {
        self.call(UpdateMemory::new(memory, MemoryUpdate::default()))
    }

    /// Permanently deletes a memory with its history.
    pub fn delete_memory(&self, memory: impl Into<MemoryId>) -> Call<DeleteMemory, M> {
        self.call(DeleteMemory::new(memory))
    }

    /// The edits, quarantines, restorations and deletions of all memories, newest first.
    pub fn list_memory_changes(&self) -> Call<ListMemoryChanges, M> {
        self.call(ListMemoryChanges::default())
    }
}

fn edit(request: &mut UpdateMemory) -> &mut ReflectionEdit {
    request.update.reflection.get_or_insert_default()
}

options! { UpdateMemory, request:
    /// Sets the summary.
    summary(text: impl Into<String>) => edit(request).summary = Some(text.into());

    /// Sets what to do next time.
    guidance(text: impl Into<String>) => edit(request).guidance = Some(text.into());

    /// Sets what went wrong.
    key_mistake(text: impl Into<String>) => edit(request).key_mistake = Some(text.into());

    /// Sets what would have been right.
    correct_action(text: impl Into<String>) => edit(request).correct_action = Some(text.into());

    /// Sets the tools the advice is about.
    applicable_tools(tools: impl IntoIterator<Item = impl Into<String>>) =>
        edit(request).applicable_tools = Some(tools.into_iter().map(Into::into).collect());

    /// Sets the fields of the text that the edit sets.
    reflection(edit: ReflectionEdit) => request.update.reflection = Some(edit);

    /// Sets the memory aside.
    quarantine() => request.update.status = Some(MemoryStatus::Quarantined);

    /// Makes the memory active.
    restore() => request.update.status = Some(MemoryStatus::Active);

    /// Merges the memory into another one, which stands for both.
    merge_into(id: impl Into<MemoryId>) => request.update.merge_into = Some(id.into());

    /// The reason, for the record of the change.
    note(text: impl Into<String>) => request.update.note = Some(text.into());
}

options! { ListMemoryChanges, list:
    /// The maximum number of changes, from 1 to 1,000; 100 by default.
    limit(limit: u32) => list.limit = Some(limit);

    /// Only changes older than this one, for the next page.
    before(change: impl Into<String>) => list.before = Some(change.into());
}

options! { ListMemories, list:
    /// The maximum number of memories, from 1 to 1,000; 100 by default.
    limit(limit: u32) => list.limit = Some(limit);

    /// Only memories older than this one, for the next page.
    before(memory: impl Into<MemoryId>) => list.before = Some(memory.into());

    /// Only memories with this status.
    status(status: MemoryStatus) => list.status = Some(status);
}

/// Puts memories into a task; see [`ReflectClient::augment_with_memories`].
#[derive(Clone, Debug)]
pub struct AugmentWithMemories {
    query: QueryMemories,
    style: PromptStyle,
    control_share: Option<f64>,
}

impl Action for AugmentWithMemories {
    type Output = AugmentedTask;

    fn check(&self) -> Result<(), InvalidField> {
        self.control_share.map_or(Ok(()), Arm::check_share)?;
        self.query.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<AugmentedTask> {
        let share = core.control_share(self.control_share).await?;
        let arm = Arm::draw(&idempotency_key(), share);
        let task = self.query.task.clone();
        let memories = match arm {
            Some(Arm::Control) => Vec::new(),
            _ => core.call(self.query).await?,
        };
        let mut augmented = AugmentedTask::styled(task, memories, self.style);
        augmented.arm = arm;
        Ok(augmented)
    }
}

impl<M> Call<QueryMemories, M> {
    /// Asks for the numbers behind the answer instead: what every memory scores, what the reviewed runs
    /// that were given it say, and why it is in the answer or not. It reads all memories of the project.
    pub fn explain(self) -> Call<ExplainMemories, M> {
        self.map(ExplainMemories)
    }
}

/// A call that queries memories.
pub trait HasQuery {
    #[doc(hidden)]
    fn query(&mut self) -> &mut QueryMemories;

    #[doc(hidden)]
    fn set_options(&mut self, options: QueryOptions) {
        let query = self.query();
        *query = options.query(mem::take(&mut query.task));
    }
}

impl HasQuery for QueryMemories {
    fn query(&mut self) -> &mut QueryMemories {
        self
    }
}

impl HasQuery for AugmentWithMemories {
    fn query(&mut self) -> &mut QueryMemories {
        &mut self.query
    }

    fn set_options(&mut self, options: QueryOptions) {
        self.style = options.style;
        self.control_share = options.control_share;
        self.query = options.query(mem::take(&mut self.query.task));
    }
}

options! { AugmentWithMemories, augment:
    /// How the memories are written into the prompt; [`PromptStyle::Full`] by default.
    style(style: PromptStyle) => augment.style = style;

    /// The share of calls, from 0 to 1, that return the task without memories, for comparison; by
    /// default that of [the client](crate::ClientBuilder::control_share). Pass the result on to
    /// [`given`](Call::given), so that the trace has the arm.
    control_share(share: f64) => augment.control_share = Some(share);
}

/// The options of [`ReflectClient::query_memories`] and [`ReflectClient::augment_with_memories`].
impl<A: HasQuery, M> Call<A, M> {
    /// Replaces all options of the query.
    pub fn query(self, options: QueryOptions) -> Self {
        self.set(|call| call.set_options(options))
    }

    query_setters!();

    fn set_query(self, change: impl FnOnce(&mut QueryMemories)) -> Self {
        self.set(|action| change(action.query()))
    }
}

impl<M> ReflectClient<M> {
    /// Stores a lesson of your own as a memory, without a run.
    ///
    /// `summary` says what was learned and `guidance` what to do next time.
    ///
    /// ```no_run
    /// use reflect_sdk::{ReflectClient, Verdict};
    ///
    /// async fn teach(client: &ReflectClient) -> reflect_sdk::Result<()> {
    ///     client
    ///         .create_memory(
    ///             "Refund an order",
    ///             "Refunds need an order that is younger than 30 days",
    ///             "Look up the order's date before promising anything",
    ///             Verdict::Pass,
    ///         )
    ///         .applicable_tools(["get_order"])
    ///         .await?;
    ///     Ok(())
    /// }
    /// ```
    pub fn create_memory(
        &self,
        task: impl Into<String>,
        summary: impl Into<String>,
        guidance: impl Into<String>,
        result: Verdict,
    ) -> Call<CreateMemory, M> {
        let authored = AuthoredReflection {
            summary: summary.into(),
            guidance: guidance.into(),
            ..AuthoredReflection::default()
        };
        let mut trace = CreateTrace::new(task, Trajectory::default());
        trace.review = Some(Review {
            reflection: Some(authored),
            ..Review::new(result)
        });
        trace.idempotency_key = Some(idempotency_key());
        self.call(CreateMemory(trace))
    }
}

/// Stores a lesson; see [`ReflectClient::create_memory`].
#[derive(Clone, Debug)]
pub struct CreateMemory(CreateTrace);

impl<M> Call<CreateMemory, M> {
    /// The mistake that the lesson prevents.
    pub fn key_mistake(self, text: impl Into<String>) -> Self {
        self.authored(|authored| authored.key_mistake = text.into())
    }

    /// The correct action.
    pub fn correct_action(self, text: impl Into<String>) -> Self {
        self.authored(|authored| authored.correct_action = text.into())
    }

    /// The tools the lesson is about.
    pub fn applicable_tools(self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let tools = tools.into_iter().map(Into::into).collect();
        self.authored(|authored| authored.applicable_tools = tools)
    }

    /// The memories that led to the lesson; the verdict moves their utility.
    pub fn retrieved_memories(self, ids: impl IntoIterator<Item = impl Into<MemoryId>>) -> Self {
        let ids = ids.into_iter().map(Into::into).collect();
        self.set(|memory| memory.0.retrieved_memory_ids = ids)
    }

    fn authored(self, change: impl FnOnce(&mut AuthoredReflection)) -> Self {
        self.set(|memory| {
            let review = memory.0.review.as_mut();
            if let Some(authored) = review.and_then(|review| review.reflection.as_mut()) {
                change(authored);
            }
        })
    }
}

impl Action for CreateMemory {
    type Output = TraceReceipt;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<TraceReceipt> {
        core.call(self.0).await
    }
}
