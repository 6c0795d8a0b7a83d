use reflect_types::{
    AuthoredReflection, CreateTrace, InvalidField, MemoryId, Review, TraceReceipt, Trajectory,
    Validate, Verdict,
};

use super::ReflectClient;
use super::call::{Action, Call, CallContext};
use super::create_trace::idempotency_key;
use crate::error::Result;

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
