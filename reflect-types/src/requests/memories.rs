use serde::{Deserialize, Serialize};

use super::shapes::{about_one, sent_as_json};
use crate::Metadata;
use crate::id::MemoryId;
use crate::integer;
use crate::layout::{Layout, given, text};
use crate::memory_status::MemoryStatus;
use crate::ranking::Ranking;
use crate::requests::CreateTrace;
use crate::validate::{InvalidField, Validate, at_most, not_blank, page_limit, small, within};

/// Finds the memories that rank best for a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueryMemories {
    /// What the agent is about to do.
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 32768, pattern = "\\S")
    )]
    pub task: String,
    /// The maximum number of memories, from 1 to 100.
    #[serde(
        default = "QueryMemories::default_limit",
        deserialize_with = "integer::read"
    )]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 100, default = QueryMemories::default_limit))]
    pub limit: u32,
    /// The weight of utility against similarity in the classic ranking:
    /// `score = (1 - lambda) * similarity + lambda * q_value`.
    #[serde(default = "QueryMemories::default_lambda")]
    #[cfg_attr(
        feature = "openapi",
        schema(minimum = 0, maximum = 1, default = QueryMemories::default_lambda)
    )]
    pub lambda: f64,
    /// The weight of rank against variety: 1 ignores variety, 0 ignores rank.
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
    /// The lowest cosine similarity of a result; the server's choice by default. If that is the embedder's own, the
    /// learned ranking also finds memories below it that reviews show to help whatever the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = -1, maximum = 1))]
    pub similarity_threshold: Option<f64>,
    /// How memories are ranked; the project's choice by default, else the server's, and `classic` with a `lambda` other than
    /// the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranking: Option<Ranking>,
}

impl QueryMemories {
    /// The default number of memories.
    pub const DEFAULT_LIMIT: u32 = 10;
    /// The maximum length of the task, in characters.
    pub const MAX_TASK: usize = CreateTrace::MAX_TASK;
    /// The maximum number of memories.
    pub const MAX_LIMIT: u32 = 100;
    /// Similarity and utility weigh the same.
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
            ranking: None,
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
        at_most("task", &self.task, Self::MAX_TASK)?;
        if let Some(filter) = &self.metadata_filter {
            small("metadata_filter", filter, CreateTrace::MAX_METADATA)?;
        }
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
        if let Some(threshold) = self.similarity_threshold {
            within("similarity_threshold", threshold, -1.0..=1.0)?;
        }
        Ranking::check("ranking", self.ranking.as_ref())
    }
}

sent_as_json!(QueryMemories, ExplainMemories);

/// Explains the answer to a query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ExplainMemories(pub QueryMemories);

impl Validate for ExplainMemories {
    fn validate(&self) -> Result<(), InvalidField> {
        self.0.validate()
    }
}

/// Lists memories, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListMemories {
    /// The maximum number of memories, from 1 to 1,000; 100 by default.
    pub limit: Option<u32>,
    /// Only memories older than this one: the last of the previous page.
    pub before: Option<MemoryId>,
    /// Only memories with this status.
    pub status: Option<MemoryStatus>,
}

impl ListMemories {
    /// The default length of a page.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The maximum length of a page.
    pub const MAX_LIMIT: u32 = 1_000;
}

impl Validate for ListMemories {
    fn validate(&self) -> Result<(), InvalidField> {
        if self
            .status
            .as_ref()
            .is_some_and(|status| !status.is_listed())
        {
            let problem = "must be `active`, `quarantined`, `archived`, `merged` or `staged`";
            return Err(InvalidField::new("status", problem));
        }
        page_limit(self.limit, Self::MAX_LIMIT)
    }
}

impl Layout for ListMemories {
    fn parameters(&self) -> Vec<(&'static str, String)> {
        given([
            ("limit", text(self.limit.as_ref())),
            ("before", text(self.before.as_ref())),
            ("status", text(self.status.as_ref())),
        ])
    }
}

about_one! {
    /// Reads a memory with its events.
    GetMemory(
        /// The memory to read.
        memory_id: MemoryId
    );
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
    fn a_value_out_of_range_is_named() {
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
        assert_eq!(
            refused(|q| q.task = "ü".repeat(32_769)),
            "`task` must have at most 32768 characters, got 32769"
        );
        assert!(refused(|q| q.mmr_lambda = f64::NAN).contains("got NaN"));
        assert!(refused(|q| q.similarity_threshold = Some(2.0)).contains("from -1 to 1"));
    }
}
