use reflect_types::{Metadata, QueryMemories, Ranking};
use serde_json::Value;

use super::augment::PromptStyle;

/// The options that a query, its options and a run share.
macro_rules! query_setters {
    () => {
        /// The maximum number of memories, from 1 to 100; 10 by default.
        pub fn limit(self, limit: u32) -> Self {
            self.set_query(|query| query.limit = limit)
        }

        /// How memories are ranked; the server's choice by default.
        pub fn ranking(self, ranking: Ranking) -> Self {
            self.set_query(|query| query.ranking = Some(ranking))
        }

        /// The weight of utility against similarity in the classic ranking, from 0 to 1; 0.5 by default:
        /// `score = (1 - lambda) * similarity + lambda * q_value`. Another value asks for that ranking.
        pub fn lambda(self, lambda: f64) -> Self {
            self.set_query(|query| query.lambda = lambda)
        }

        /// The weight of rank against variety, from 0 to 1; 0.7 by default; 1 disables variety.
        pub fn mmr_lambda(self, mmr_lambda: f64) -> Self {
            self.set_query(|query| query.mmr_lambda = mmr_lambda)
        }

        /// The lowest cosine similarity of a memory; the server's choice by default.
        pub fn similarity_threshold(self, threshold: f64) -> Self {
            self.set_query(|query| query.similarity_threshold = Some(threshold))
        }

        /// Only memories whose metadata has this value under this key, or a list that holds it. Further
        /// calls narrow the result.
        pub fn metadata_filter(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
            self.set_query(|query| {
                let filter = query.metadata_filter.get_or_insert_default();
                filter.insert(key.into(), value.into());
            })
        }
    };
}

pub(crate) use query_setters;

/// The options of a query for memories: what is retrieved, and how it is ranked.
///
/// A [query](crate::calls::Call::query), a [run](crate::TraceBuilder::query) and
/// `#[reflect_trace(query = …)]` take them.
///
/// ```
/// use reflect_sdk::QueryOptions;
///
/// let options = QueryOptions::default().limit(3).metadata_filter("customer", "acme");
/// assert_eq!(options.limit, 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use]
#[non_exhaustive]
pub struct QueryOptions {
    /// The maximum number of memories, from 1 to 100; 10 by default.
    pub limit: u32,
    /// How memories are ranked; the server's choice by default, which is the learned ranking unless it
    /// says otherwise.
    pub ranking: Option<Ranking>,
    /// The weight of utility against similarity in the classic ranking, from 0 to 1; 0.5 by default:
    /// `score = (1 - lambda) * similarity + lambda * q_value`. Another value asks for that ranking.
    pub lambda: f64,
    /// The weight of rank against variety, from 0 to 1; 0.7 by default; 1 disables variety.
    pub mmr_lambda: f64,
    /// Only memories whose metadata matches every key: an equal value, or a list that holds it.
    pub metadata_filter: Option<Metadata>,
    /// The lowest cosine similarity of a result; the server's choice by default.
    pub similarity_threshold: Option<f64>,
    /// How the memories are written into a prompt; [`PromptStyle::Full`] by default.
    pub style: PromptStyle,
    /// The share of runs, from 0 to 1, that are given no memories, for comparison; by default that of
    /// [the client](crate::ClientBuilder::control_share). A [run](crate::ReflectClient::trace) and
    /// [`augment_with_memories`](crate::ReflectClient::augment_with_memories) use it; a plain query is
    /// always answered.
    pub control_share: Option<f64>,
}

impl QueryOptions {
    fn set_query(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    query_setters!();

    /// Sets how the memories are written into a prompt.
    pub fn style(mut self, style: PromptStyle) -> Self {
        self.style = style;
        self
    }

    /// Sets the share of runs that are given no memories.
    pub fn control_share(mut self, share: f64) -> Self {
        self.control_share = Some(share);
        self
    }

    /// The query of these options for a task.
    pub fn query(self, task: impl Into<String>) -> QueryMemories {
        QueryMemories {
            task: task.into(),
            limit: self.limit,
            lambda: self.lambda,
            mmr_lambda: self.mmr_lambda,
            metadata_filter: self.metadata_filter,
            similarity_threshold: self.similarity_threshold,
            ranking: self.ranking,
        }
    }
}

impl Default for QueryOptions {
    fn default() -> Self {
        Self {
            limit: QueryMemories::DEFAULT_LIMIT,
            ranking: None,
            lambda: QueryMemories::DEFAULT_LAMBDA,
            mmr_lambda: QueryMemories::DEFAULT_MMR_LAMBDA,
            metadata_filter: None,
            similarity_threshold: None,
            style: PromptStyle::Full,
            control_share: None,
        }
    }
}
