use reflect_types::{AuthoredReflection, CreateTrace, Review, Trajectory};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::Value;

use super::review::{JudgedBy, ResultSchema, verdict};
use super::run::{NO_RESULT, TrajectorySchema, trajectory};

/// The arguments of `create_memory`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct CreateMemory {
    /// A task that the lesson is for: it is found for tasks that are like this one.
    task: String,
    /// Whether the run that taught it was right.
    #[serde(default)]
    #[schemars(with = "Option<ResultSchema>")]
    result: Option<String>,
    /// What happened, in short. With `guidance`, this is the lesson itself.
    #[serde(default)]
    summary: Option<String>,
    /// What to do next time, as an instruction.
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

impl CreateMemory {
    /// The trace with a review, or without one if no result is given.
    pub(in crate::mcp) fn into_trace(self) -> Result<CreateTrace, String> {
        let verdict = self.result.as_deref().map(verdict).transpose()?;
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
                    return Err(format!(
                        "`{part}` is part of a lesson: give its `summary` and `guidance` too, or leave \
                         it out"
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
                return Err(format!(
                    "`{field}` is missing: a lesson has a summary and guidance"
                ));
            }
        };
        let trajectory = match (self.trajectory, &lesson) {
            (Some(messages), _) => trajectory(messages)?,
            (None, Some(_)) => Trajectory::default(),
            (None, None) => {
                return Err(
                    "give a lesson (`summary`, `guidance` and `result`), or the `trajectory` of the run"
                        .to_owned(),
                );
            }
        };
        let review = match (verdict, lesson) {
            (None, Some(_)) => {
                return Err(
                    "`result` is missing: say whether the run was a `pass` or a `fail`".to_owned(),
                );
            }
            (None, None) if self.feedback_text.is_some() => return Err(NO_RESULT.to_owned()),
            (None, None) => None,
            (Some(verdict), reflection) => {
                let review = Review {
                    feedback_text: self.feedback_text,
                    reflection,
                    ..Review::new(verdict)
                };
                Some(JudgedBy::Agent.sign(review))
            }
        };
        let ids = self.retrieved_memory_ids.into_iter().map(Into::into);
        Ok(CreateTrace {
            final_response: self.final_response,
            retrieved_memory_ids: ids.collect(),
            review,
            ..CreateTrace::new(self.task, trajectory)
        })
    }
}
