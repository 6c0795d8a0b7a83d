//! The arguments of the tools, as requests of the engine.

use reflect_types::{
    AuthoredReflection, CreateTrace, QueryMemories, Review, Trajectory, Validate as _, Verdict,
};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::Value;

use crate::error::ApiError;

/// The reviewer of a run that its agent judges itself.
const REVIEWER: &str = "mcp";

/// The arguments of `retrieve_memories`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct RetrieveMemories {
    /// What you are about to do.
    query: String,
    /// Maximum number of memories, from 1 to 20.
    #[serde(default = "RetrieveMemories::default_limit")]
    #[schemars(range(min = 1, max = 20))]
    limit: u32,
    /// Weight of utility against similarity: 0 is similarity alone, 1 utility alone.
    #[serde(default = "RetrieveMemories::default_lambda", alias = "lambda")]
    #[schemars(range(min = 0, max = 1))]
    lambda_: f64,
}

impl RetrieveMemories {
    const DEFAULT_LIMIT: u32 = 5;
    const MAX_LIMIT: u32 = 20;

    /// The query. Its errors name the tool's own fields and limits.
    pub(super) fn into_query(self) -> Result<QueryMemories, ApiError> {
        if !(1..=Self::MAX_LIMIT).contains(&self.limit) {
            return Err(ApiError::field(
                "limit",
                format!(
                    "`limit` must be from 1 to {}, got {}: leave it out for {}",
                    Self::MAX_LIMIT,
                    self.limit,
                    Self::DEFAULT_LIMIT
                ),
            ));
        }
        let query = QueryMemories {
            limit: self.limit,
            lambda: self.lambda_,
            ..QueryMemories::new(self.query)
        };
        query.validate().map_err(|invalid| {
            let field = match invalid.field {
                "task" => "query",
                "lambda" => "lambda_",
                other => other,
            };
            ApiError::field(field, format!("`{field}` {}", invalid.problem))
        })?;
        Ok(query)
    }

    fn default_limit() -> u32 {
        Self::DEFAULT_LIMIT
    }

    fn default_lambda() -> f64 {
        QueryMemories::DEFAULT_LAMBDA
    }
}

/// The arguments of `create_memory`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct CreateMemory {
    /// What the task was.
    task: String,
    /// `pass` or `fail`.
    #[serde(default)]
    #[schemars(with = "Option<ResultSchema>")]
    result: Option<String>,
    /// What happened, in short. With `guidance`, this is the lesson itself.
    #[serde(default)]
    summary: Option<String>,
    /// What to do next time.
    #[serde(default)]
    guidance: Option<String>,
    /// What went wrong. Part of a lesson.
    #[serde(default)]
    key_mistake: String,
    /// What would have been right. Part of a lesson.
    #[serde(default)]
    correct_action: String,
    /// The tools the advice is about. Part of a lesson.
    #[serde(default)]
    applicable_tools: Vec<String>,
    /// The ids of the memories you were given. The result changes their utility.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    retrieved_memory_ids: Vec<String>,
    /// Instead of a lesson: the run as messages or as text.
    #[serde(default)]
    #[schemars(with = "Option<TrajectorySchema>")]
    trajectory: Option<Value>,
    /// The answer that was given.
    #[serde(default)]
    final_response: Option<String>,
    /// What was wrong or right with the answer. Needs `result`.
    #[serde(default)]
    feedback_text: Option<String>,
}

/// The schema of `result`.
#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "it describes a field")]
enum ResultSchema {
    Pass,
    Fail,
    Success,
    Failure,
}

/// The schema of `trajectory`.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes a field")]
enum TrajectorySchema {
    Messages(Vec<serde_json::Map<String, Value>>),
    Text(String),
}

impl CreateMemory {
    /// The trace with a review, or without one if no result is given.
    pub(super) fn into_trace(self) -> Result<CreateTrace, ApiError> {
        let verdict = self
            .result
            .as_deref()
            .map(str::parse::<Verdict>)
            .transpose();
        let verdict = verdict.map_err(|error| ApiError::field("result", error.to_string()))?;
        let lesson = match (self.summary, self.guidance) {
            (Some(summary), Some(guidance)) => Some(AuthoredReflection {
                summary,
                guidance,
                key_mistake: self.key_mistake,
                correct_action: self.correct_action,
                applicable_tools: self.applicable_tools,
            }),
            (None, None) => {
                let parts = [
                    ("key_mistake", self.key_mistake.is_empty()),
                    ("correct_action", self.correct_action.is_empty()),
                    ("applicable_tools", self.applicable_tools.is_empty()),
                ];
                if let Some((part, _)) = parts.iter().find(|(_, is_empty)| !is_empty) {
                    return Err(ApiError::field(
                        *part,
                        format!(
                            "`{part}` is part of a lesson: give its `summary` and `guidance` too, \
                             or leave it out"
                        ),
                    ));
                }
                None
            }
            (given, _) => {
                let field = if given.is_some() {
                    "guidance"
                } else {
                    "summary"
                };
                return Err(ApiError::field(
                    field,
                    format!("`{field}` is missing: a lesson has a summary and guidance"),
                ));
            }
        };
        let trajectory = match (self.trajectory, &lesson) {
            (Some(trajectory), _) => serde_json::from_value::<Trajectory>(trajectory)
                .map_err(|error| ApiError::field("trajectory", format!("`trajectory`: {error}")))?,
            (None, Some(_)) => Trajectory::default(),
            (None, None) => {
                return Err(ApiError::field(
                    "summary",
                    "give a lesson (`summary`, `guidance` and `result`), or the `trajectory` of \
                     the run",
                ));
            }
        };
        let review = match (verdict, lesson) {
            (None, Some(_)) => {
                return Err(ApiError::field(
                    "result",
                    "`result` is missing: say whether the run was a `pass` or a `fail`",
                ));
            }
            (None, None) if self.feedback_text.is_some() => {
                return Err(ApiError::field(
                    "result",
                    "`result` is missing: `feedback_text` says why the run was a `pass` or a `fail`",
                ));
            }
            (None, None) => None,
            (Some(verdict), reflection) => {
                let review = Review {
                    feedback_text: self.feedback_text,
                    reflection,
                    ..Review::new(verdict)
                };
                // The agent judges its own run, so a person's review replaces this one.
                Some(review.judged_by(REVIEWER))
            }
        };
        Ok(CreateTrace {
            final_response: self.final_response,
            retrieved_memory_ids: self
                .retrieved_memory_ids
                .into_iter()
                .map(Into::into)
                .collect(),
            review,
            ..CreateTrace::new(self.task, trajectory)
        })
    }
}
