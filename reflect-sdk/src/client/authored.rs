use reflect_types::{
    AuthoredReflection, CreateTrace, InvalidField, MemoryId, Review, TraceReceipt, Trajectory,
    Validate, Verdict,
};

use super::ReflectClient;
use super::call::{Call, CallContext, Operation};
use super::idempotency::idempotency_key;
use crate::error::Result;

impl<M> ReflectClient<M> {
    /// Stores a lesson of your own as a memory, without a run behind it.
    ///
    /// `summary` says what was learned and `guidance` what to do next time.
    ///
    /// ```no_run
    /// # use reflect_sdk::Verdict;
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// client
    ///     .create_memory(
    ///         "Refund an order",
    ///         "Refunds need an order that is younger than 30 days",
    ///         "Look up the order's date before promising anything",
    ///         Verdict::Pass,
    ///     )
    ///     .applicable_tools(["get_order"])
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_memory(
        &self,
        task: impl Into<String>,
        summary: impl Into<String>,
        guidance: impl Into<String>,
        result: Verdict,
    ) -> Call<StoreMemory, M> {
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
        self.call(StoreMemory {
            trace,
            idempotency_key: idempotency_key(),
        })
    }
}

/// Stores a lesson of your own; see [`ReflectClient::create_memory`].
#[derive(Clone, Debug)]
pub struct StoreMemory {
    trace: CreateTrace,
    idempotency_key: String,
}

impl<M> Call<StoreMemory, M> {
    /// What goes wrong without the lesson.
    pub fn key_mistake(self, text: impl Into<String>) -> Self {
        self.authored(|authored| authored.key_mistake = text.into())
    }

    /// What is right.
    pub fn correct_action(self, text: impl Into<String>) -> Self {
        self.authored(|authored| authored.correct_action = text.into())
    }

    /// The tools the lesson is about.
    pub fn applicable_tools(self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let tools = tools.into_iter().map(Into::into).collect();
        self.authored(|authored| authored.applicable_tools = tools)
    }

    /// The memories that led to the lesson; they are credited as by any review.
    pub fn retrieved_memories(self, ids: impl IntoIterator<Item = impl Into<MemoryId>>) -> Self {
        let ids = ids.into_iter().map(Into::into).collect();
        self.set(|operation| operation.trace.retrieved_memory_ids = ids)
    }

    fn authored(self, change: impl FnOnce(&mut AuthoredReflection)) -> Self {
        self.set(|operation| {
            let review = operation.trace.review.as_mut();
            if let Some(authored) = review.and_then(|review| review.reflection.as_mut()) {
                change(authored);
            }
        })
    }
}

impl Operation for StoreMemory {
    type Output = TraceReceipt;

    fn check(&self) -> Result<(), InvalidField> {
        self.trace.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<TraceReceipt> {
        let (trace, key) = (&self.trace, &self.idempotency_key);
        core.send(|| core.transport().create_trace(&core.project, trace, key))
            .await
    }
}
