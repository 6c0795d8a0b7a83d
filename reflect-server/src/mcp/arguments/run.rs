use reflect_types::{CreateTrace, Metadata, Review, Trajectory, Validate as _};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::Value;

use super::review::{JudgedBy, ResultSchema, verdict};

/// The arguments of `record_run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct RecordRun {
    /// The task in the user's own words, without the memories.
    task: String,
    /// What you did, in order: messages with `role` and `content` (and tool calls), or prose that
    /// names the steps, the tools and what they returned.
    #[schemars(with = "TrajectorySchema")]
    trajectory: Value,
    /// The answer you gave.
    #[serde(default)]
    final_response: Option<String>,
    /// The ids of the memories that `retrieve_memories` returned for this task, whether you used them or
    /// not. The verdict on this run changes how they rank.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    retrieved_memory_ids: Vec<String>,
    /// Whether the run was right, if that is known already. Else leave it out, and call `review_run`
    /// when it is.
    #[serde(default)]
    #[schemars(with = "Option<ResultSchema>")]
    result: Option<String>,
    /// With `result`: what was wrong, or right, as specific as you can.
    #[serde(default)]
    feedback_text: Option<String>,
    /// With `result`: who says so.
    #[serde(default)]
    judged_by: JudgedBy,
    /// The name of your model.
    #[serde(default)]
    model: Option<String>,
    /// What else identifies the run, such as `{"ticket": "123", "repository": "shop"}`.
    #[serde(default)]
    metadata: Metadata,
    /// The conversation, ticket or job that this run is a part of: all its runs are listed together.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    session_id: Option<String>,
    /// A name of this run that no other has, such as the id of a CI job. A repeated one stores nothing.
    #[serde(default)]
    #[schemars(length(min = 1, max = 255))]
    idempotency_key: Option<String>,
}

impl RecordRun {
    pub(in crate::mcp) fn into_trace(self) -> Result<CreateTrace, String> {
        let review = match self.result {
            Some(result) => {
                let review = Review {
                    feedback_text: self.feedback_text,
                    ..Review::new(verdict(&result)?)
                };
                Some(self.judged_by.sign(review))
            }
            None if self.feedback_text.is_some() => return Err(NO_RESULT.to_owned()),
            None => None,
        };
        let ids = self.retrieved_memory_ids.into_iter().map(Into::into);
        let trace = CreateTrace {
            final_response: self.final_response,
            retrieved_memory_ids: ids.collect(),
            model: self.model,
            metadata: self.metadata,
            review,
            session_id: self.session_id,
            idempotency_key: self.idempotency_key,
            ..CreateTrace::new(self.task, trajectory(self.trajectory)?)
        };
        trace.validate().map_err(|invalid| invalid.to_string())?;
        Ok(trace)
    }
}

/// What an agent is told that gives feedback without a verdict.
pub(super) const NO_RESULT: &str =
    "`result` is missing: `feedback_text` says why the run was a `pass` or a `fail`";

pub(super) fn trajectory(value: Value) -> Result<Trajectory, String> {
    serde_json::from_value(value).map_err(|error| format!("`trajectory`: {error}"))
}

/// A list of messages, or prose.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it describes a field")]
pub(super) enum TrajectorySchema {
    Messages(Vec<serde_json::Map<String, Value>>),
    Text(String),
}
