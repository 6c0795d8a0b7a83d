use serde::{Deserialize, Serialize};

use crate::Metadata;
use crate::id::MemoryId;
use crate::validate::{InvalidField, Validate, not_blank, within};

/// Asks for the memories that rank best for a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueryMemories {
    /// What the agent is about to do.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, pattern = "\\S"))]
    pub task: String,
    /// How many memories at the most, from 1 to 100.
    #[serde(default = "QueryMemories::default_limit")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100, default = QueryMemories::default_limit))]
    pub limit: u32,
    /// How much proven utility counts against similarity:
    /// `score = (1 - lambda) * similarity + lambda * q_value`.
    #[serde(default = "QueryMemories::default_lambda")]
    #[cfg_attr(
        feature = "openapi",
        schema(minimum = 0, maximum = 1, default = QueryMemories::default_lambda)
    )]
    pub lambda: f64,
    /// How much rank counts against variety: 1 ranks alone, 0 looks for variety alone.
    #[serde(default = "QueryMemories::default_mmr_lambda")]
    #[cfg_attr(
        feature = "openapi",
        schema(minimum = 0, maximum = 1, default = QueryMemories::default_mmr_lambda)
    )]
    pub mmr_lambda: f64,
    /// Every key must match: a scalar matches an equal value, or a list that holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata_filter: Option<Metadata>,
    /// The lowest cosine similarity that counts; absent leaves it to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = -1, maximum = 1))]
    pub similarity_threshold: Option<f64>,
}

impl QueryMemories {
    /// How many memories a query asks for when it does not say.
    pub const DEFAULT_LIMIT: u32 = 10;
    /// The most memories a query may ask for.
    pub const MAX_LIMIT: u32 = 100;
    /// Similarity and utility count alike.
    pub const DEFAULT_LAMBDA: f64 = 0.5;
    /// Mostly rank, some variety.
    pub const DEFAULT_MMR_LAMBDA: f64 = 0.7;

    /// A query with the defaults.
    pub fn new(task: impl Into<String>) -> Self {
        Self {
            task: task.into(),
            limit: Self::DEFAULT_LIMIT,
            lambda: Self::DEFAULT_LAMBDA,
            mmr_lambda: Self::DEFAULT_MMR_LAMBDA,
            metadata_filter: None,
            similarity_threshold: None,
        }
    }

    fn default_limit() -> u32 {
        Self::DEFAULT_LIMIT
    }

    fn default_lambda() -> f64 {
        Self::DEFAULT_LAMBDA
    }

    fn default_mmr_lambda() -> f64 {
        Self::DEFAULT_MMR_LAMBDA
    }
}

impl Validate for QueryMemories {
    fn validate(&self) -> Result<(), InvalidField> {
        not_blank("task", &self.task, "say what the agent is about to do")?;
        if !(1..=Self::MAX_LIMIT).contains(&self.limit) {
            return Err(InvalidField::new(
                "limit",
                format!(
                    "must be from 1 to {}, got {}: leave it out for {}",
                    Self::MAX_LIMIT,
                    self.limit,
                    Self::DEFAULT_LIMIT
                ),
            ));
        }
        within("lambda", self.lambda, 0.0..=1.0)?;
        within("mmr_lambda", self.mmr_lambda, 0.0..=1.0)?;
        self.similarity_threshold
            .map_or(Ok(()), |t| within("similarity_threshold", t, -1.0..=1.0))
    }
}

/// What was learned from one reviewed run, as a query returns it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Memory {
    /// Names the memory; pass it on with the run's trace, so that the review can credit it.
    pub id: MemoryId,
    /// The task of the run it was learned from.
    pub task: String,
    /// What was learned, as one text.
    pub reflection: String,
    /// Its proven utility: 0.5 at first, towards 1 with passes, towards 0 with fails.
    #[serde(default = "Memory::initial_q_value")]
    pub q_value: f64,
    /// The cosine similarity of its task with the query's.
    #[serde(default)]
    pub similarity: f64,
    /// Similarity and utility blended, before variety is looked for.
    #[serde(default)]
    pub score: f64,
    /// Whether the run it came from passed; `None` where that is unknown.
    #[serde(default)]
    pub success: Option<bool>,
    /// What happened, in short.
    #[serde(default)]
    pub summary: String,
    /// What went wrong.
    #[serde(default)]
    pub key_mistake: String,
    /// What would have been right.
    #[serde(default)]
    pub correct_action: String,
    /// The tools the advice is about.
    #[serde(default)]
    pub applicable_tools: Vec<String>,
    /// What to do next time.
    #[serde(default)]
    pub guidance: String,
    /// The tools the run used.
    #[serde(default)]
    pub tools_used: Vec<String>,
}

impl Memory {
    /// The utility of a memory that no review has moved yet.
    pub const INITIAL_Q_VALUE: f64 = 0.5;

    fn initial_q_value() -> f64 {
        Self::INITIAL_Q_VALUE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_of_an_old_client_gets_the_defaults() {
        let query: QueryMemories = serde_json::from_str(r#"{"task": "t"}"#).unwrap();
        assert_eq!(query, QueryMemories::new("t"));
    }

    #[test]
    fn a_memory_of_an_old_server_gets_the_defaults() {
        let memory: Memory =
            serde_json::from_str(r#"{"id": "m", "task": "t", "reflection": "r", "new": 1}"#)
                .unwrap();
        assert!((memory.q_value - 0.5).abs() < f64::EPSILON);
        assert_eq!(memory.success, None);
    }

    #[test]
    fn what_is_out_of_range_is_named() {
        let refused = |change: fn(&mut QueryMemories)| {
            let mut query = QueryMemories::new("t");
            change(&mut query);
            query.validate().unwrap_err().to_string()
        };
        assert_eq!(
            refused(|q| q.task = "  ".into()),
            "`task` is empty: say what the agent is about to do"
        );
        assert_eq!(
            refused(|q| q.limit = 0),
            "`limit` must be from 1 to 100, got 0: leave it out for 10"
        );
        assert_eq!(
            refused(|q| q.lambda = 1.5),
            "`lambda` must be from 0 to 1, got 1.5"
        );
        assert!(refused(|q| q.mmr_lambda = f64::NAN).contains("got NaN"));
        assert!(refused(|q| q.similarity_threshold = Some(2.0)).contains("from -1 to 1"));
    }
}
