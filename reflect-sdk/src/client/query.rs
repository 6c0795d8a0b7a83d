use reflect_types::{Metadata, QueryMemories, Ranking};
use serde_json::Value;

use super::augment::Style;

/// The options of a query for memories: what is retrieved, and how it is ranked.
///
/// A [query](crate::calls::Call::options), a [run](crate::TraceBuilder::options) and
/// `#[reflect_trace(query = …)]` take them.
///
/// ```
/// use reflect_sdk::QueryOptions;
///
/// let options = QueryOptions::default().limit(3).metadata_filter("customer", "acme");
/// assert_eq!(options.limit, 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
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
    /// How the memories are written into a prompt; [`Style::Full`] by default.
    pub style: Style,
    /// The share of runs, from 0 to 1, that are given no memories, for comparison; by default that of
    /// [the client](crate::ClientBuilder::control). A [run](crate::ReflectClient::trace) and
    /// [`augment_with_memories`](crate::ReflectClient::augment_with_memories) use it; a plain query is
    /// always answered.
    pub control: Option<f64>,
}

impl QueryOptions {
    /// Sets the maximum number of memories.
    #[must_use]
    pub fn limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// Sets how memories are ranked.
    #[must_use]
    pub fn ranking(mut self, ranking: Ranking) -> Self {
        self.ranking = Some(ranking);
        self
    }

    /// Sets the weight of utility against similarity, and so the classic ranking.
    #[must_use]
    pub fn lambda(mut self, lambda: f64) -> Self {
        self.lambda = lambda;
        self
    }

    /// Sets the weight of rank against variety.
    #[must_use]
    pub fn mmr_lambda(mut self, mmr_lambda: f64) -> Self {
        self.mmr_lambda = mmr_lambda;
        self
    }

    /// Adds a key and value that the metadata of a memory must match.
    #[must_use]
    pub fn metadata_filter(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        let filter = self.metadata_filter.get_or_insert_default();
        filter.insert(key.into(), value.into());
        self
    }

    /// Sets the lowest cosine similarity.
    #[must_use]
    pub fn similarity_threshold(mut self, threshold: f64) -> Self {
        self.similarity_threshold = Some(threshold);
        self
    }

    /// Sets how the memories are written into a prompt.
    #[must_use]
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Sets the share of runs that are given no memories.
    #[must_use]
    pub fn control(mut self, share: f64) -> Self {
        self.control = Some(share);
        self
    }

    /// The query of these options for a task.
    pub fn query(self, task: impl Into<String>) -> QueryMemories {
        let Self {
            limit,
            ranking,
            lambda,
            mmr_lambda,
            metadata_filter,
            similarity_threshold,
            style: _,
            control: _,
        } = self;
        QueryMemories {
            task: task.into(),
            limit,
            lambda,
            mmr_lambda,
            metadata_filter,
            similarity_threshold,
            ranking,
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
            style: Style::Full,
            control: None,
        }
    }
}
