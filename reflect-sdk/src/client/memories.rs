use reflect_types::{InvalidField, Memory, QueryMemories, Validate};
use serde_json::Value;

use super::ReflectClient;
use super::augment::AugmentedTask;
use super::call::{Call, CallContext, Operation};
use crate::error::Result;

/// Asks for memories; see [`ReflectClient::query_memories`].
#[derive(Clone, Debug)]
pub struct Query(QueryMemories);

/// Puts memories behind a task; see [`ReflectClient::augment_with_memories`].
#[derive(Clone, Debug)]
pub struct Augment(QueryMemories);

impl<M> ReflectClient<M> {
    /// The memories that rank best for a task, by similarity and proven utility, best first.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let memories = client
    ///     .query_memories("Refund order 7")
    ///     .limit(3)
    ///     .lambda(0.3)
    ///     .metadata_filter("customer", "acme")
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_memories(&self, task: impl Into<String>) -> Call<Query, M> {
        self.call(Query(QueryMemories::new(task)))
    }

    /// The task with its memories put behind it, ready for a prompt.
    ///
    /// ```no_run
    /// # async fn run(client: reflect_sdk::ReflectClient) -> reflect_sdk::Result<()> {
    /// let augmented = client.augment_with_memories("Refund order 7").limit(3).await?;
    /// println!("{}", augmented.augmented_task);
    /// # Ok(())
    /// # }
    /// ```
    pub fn augment_with_memories(&self, task: impl Into<String>) -> Call<Augment, M> {
        self.call(Augment(QueryMemories::new(task)))
    }
}

/// The two calls take the same options.
macro_rules! query_options {
    ($operation:ident) => {
        impl<M> Call<$operation, M> {
            /// How many memories at the most: 1 to 100, 10 unless set.
            pub fn limit(self, limit: u32) -> Self {
                self.set(|o| o.0.limit = limit)
            }

            /// How much proven utility counts against similarity, from 0 to 1:
            /// `score = (1 - lambda) * similarity + lambda * q_value`; 0.5 unless set.
            pub fn lambda(self, lambda: f64) -> Self {
                self.set(|o| o.0.lambda = lambda)
            }

            /// How much rank counts against variety, from 0 to 1; 0.7 unless set, 1 ranks alone.
            pub fn mmr_lambda(self, mmr_lambda: f64) -> Self {
                self.set(|o| o.0.mmr_lambda = mmr_lambda)
            }

            /// The lowest cosine similarity that counts; left to the server unless set.
            pub fn similarity_threshold(self, threshold: f64) -> Self {
                self.set(|o| o.0.similarity_threshold = Some(threshold))
            }

            /// Only memories whose metadata has this value under this key, or a list that holds
            /// it. Called again it narrows further.
            pub fn metadata_filter(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
                self.set(|o| {
                    let filter = o.0.metadata_filter.get_or_insert_default();
                    filter.insert(key.into(), value.into());
                })
            }
        }
    };
}

query_options!(Query);
query_options!(Augment);

impl Operation for Query {
    type Output = Vec<Memory>;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, CallContext(core): CallContext) -> Result<Vec<Memory>> {
        core.send(|| core.transport().query_memories(&core.project, &self.0))
            .await
    }
}

impl Operation for Augment {
    type Output = AugmentedTask;

    fn check(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }

    async fn run(self, context: CallContext) -> Result<AugmentedTask> {
        let task = self.0.task.clone();
        let memories = Query(self.0).run(context).await?;
        Ok(AugmentedTask::new(task, memories))
    }
}
