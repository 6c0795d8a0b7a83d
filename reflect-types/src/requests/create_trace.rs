use std::borrow::Cow;
use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::id::MemoryId;
use crate::layout::Layout;
use crate::neutral;
use crate::reflection::AuthoredReflection;
use crate::review::Review;
use crate::trace::null_is_default;
use crate::trajectory::Trajectory;
use crate::validate::{InvalidField, Validate, at_most, not_blank, small};
use crate::{IDEMPOTENCY_KEY, Metadata};

/// Stores a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateTrace {
    /// What the agent was asked to do, without the memories.
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 32768, pattern = "\\S")
    )]
    pub task: String,
    /// The messages of the run.
    pub trajectory: Trajectory,
    /// The memories the agent was given, at most 1,000 ids of at most 128 characters; the review moves
    /// their utility.
    #[serde(default, deserialize_with = "null_is_default")]
    #[cfg_attr(
        feature = "openapi",
        schema(schema_with = crate::openapi::retrieved_memory_ids, required = false)
    )]
    pub retrieved_memory_ids: Vec<MemoryId>,
    /// The model that ran.
    #[cfg_attr(feature = "openapi", schema(max_length = 200))]
    pub model: Option<String>,
    /// Free-form data, of at most 65,536 bytes. The memory inherits it, so queries can filter on it.
    #[serde(default, deserialize_with = "null_is_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub metadata: Metadata,
    /// The answer; absent takes the last assistant message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_response: Option<String>,
    /// The policy or rules the run worked under, for the reflection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_context: Option<String>,
    /// The review, where the result is known already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// The side of the comparison with and without memories that the run was drawn for. A run of the
    /// control arm has no retrieved memories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<Arm>,
    /// The idempotency key: a repeated key returns the first receipt. That of a single run travels in the header
    /// [`IDEMPOTENCY_KEY`], that of a run among others in this field.
    #[serde(default, skip_serializing)]
    #[cfg_attr(
        feature = "openapi",
        schema(min_length = 1, max_length = 255, pattern = "^[!-~]+$")
    )]
    pub idempotency_key: Option<String>,
}

impl CreateTrace {
    /// The longest idempotency key.
    pub const MAX_IDEMPOTENCY_KEY: usize = 255;
    /// The maximum length of the task, in characters.
    pub const MAX_TASK: usize = 32_768;
    /// The maximum length of the model's name, in characters.
    pub const MAX_MODEL: usize = 200;
    /// The maximum size of the metadata as JSON, in bytes.
    pub const MAX_METADATA: usize = 65_536;
    /// The maximum number of retrieved memories.
    pub const MAX_RETRIEVED: usize = 1_000;

    /// A run without a review.
    pub fn new(task: impl Into<String>, trajectory: impl Into<Trajectory>) -> Self {
        Self {
            task: task.into(),
            trajectory: trajectory.into(),
            retrieved_memory_ids: Vec::new(),
            model: None,
            metadata: Metadata::new(),
            final_response: None,
            reference_context: None,
            review: None,
            arm: None,
            idempotency_key: None,
        }
    }

    /// Cuts what is longer than its limit, and returns the names of the fields it cut. Of metadata over
    /// its limit, the largest entries are left out; of retrieved memories, repeated ids, ids that are too
    /// long and the last ones.
    ///
    /// For recorders that rather lose the end of a text than the run. A request that is sent by hand is
    /// refused instead, with an error that names the limit.
    pub fn shorten(&mut self) -> Vec<&'static str> {
        let mut cut = Vec::new();
        let mut fit = |field, text: &mut String, most| {
            if let Cow::Owned(short) = neutral::excerpt(text, most) {
                *text = short;
                cut.push(field);
            }
        };
        fit("task", &mut self.task, Self::MAX_TASK);
        if let Some(model) = &mut self.model {
            fit("model", model, Self::MAX_MODEL);
        }
        if let Some(review) = &mut self.review {
            if let Some(feedback) = &mut review.feedback_text {
                fit("review.feedback_text", feedback, Review::MAX_FEEDBACK);
            }
            if let Some(reflection) = &mut review.reflection {
                for text in [
                    &mut reflection.summary,
                    &mut reflection.guidance,
                    &mut reflection.key_mistake,
                    &mut reflection.correct_action,
                ] {
                    fit("review.reflection", text, AuthoredReflection::MAX_TEXT);
                }
                for name in &mut reflection.applicable_tools {
                    fit("review.reflection", name, AuthoredReflection::MAX_TOOL_NAME);
                }
                let tools = &mut reflection.applicable_tools;
                tools.truncate(AuthoredReflection::MAX_TOOLS);
            }
        }
        if small("metadata", &self.metadata, Self::MAX_METADATA).is_err() {
            leave_out_the_largest(&mut self.metadata, Self::MAX_METADATA);
            cut.push("metadata");
        }
        if retrieved(&self.retrieved_memory_ids).is_err() {
            let mut seen = HashSet::new();
            self.retrieved_memory_ids
                .retain(|id| id.is_short() && seen.insert(id.clone()));
            self.retrieved_memory_ids.truncate(Self::MAX_RETRIEVED);
            cut.push("retrieved_memory_ids");
        }
        cut.dedup();
        cut
    }
}

impl CreateTrace {
    fn consistent_arm(&self) -> Result<(), InvalidField> {
        if self.arm == Some(Arm::Control) && !self.retrieved_memory_ids.is_empty() {
            let problem = "must not be `control` for a run with `retrieved_memory_ids`: the control arm is \
                           given no memories";
            return Err(InvalidField::new("arm", problem));
        }
        Arm::check("arm", self.arm.as_ref())
    }
}

impl Validate for CreateTrace {
    fn validate(&self) -> Result<(), InvalidField> {
        not_blank("task", &self.task, "say what the agent was asked to do")?;
        at_most("task", &self.task, Self::MAX_TASK)?;
        let model = self.model.as_deref().unwrap_or_default();
        at_most("model", model, Self::MAX_MODEL)?;
        small("metadata", &self.metadata, Self::MAX_METADATA)?;
        retrieved(&self.retrieved_memory_ids)?;
        self.consistent_arm()?;
        self.idempotency_key.as_deref().map_or(Ok(()), usable_key)?;
        let Some(review) = &self.review else {
            return Ok(());
        };
        review.validate().map_err(|invalid| InvalidField {
            field: match invalid.field {
                "result" => "review.result",
                "alpha" => "review.alpha",
                "feedback_text" => "review.feedback_text",
                "summary" => "review.reflection.summary",
                "guidance" => "review.reflection.guidance",
                "key_mistake" => "review.reflection.key_mistake",
                "correct_action" => "review.reflection.correct_action",
                "applicable_tools" => "review.reflection.applicable_tools",
                other => other,
            },
            ..invalid
        })
    }
}

/// A review looks up each of them.
fn retrieved(ids: &[MemoryId]) -> Result<(), InvalidField> {
    const MAX: usize = CreateTrace::MAX_RETRIEVED;
    const MAX_LENGTH: usize = MemoryId::MAX_LENGTH;

    let problem = if ids.len() > MAX {
        format!("must have at most {MAX} ids, got {}", ids.len())
    } else if ids.iter().all(MemoryId::is_short) {
        return Ok(());
    } else {
        format!("must have ids of at most {MAX_LENGTH} characters")
    };
    Err(InvalidField::new("retrieved_memory_ids", problem))
}

/// Removes the largest entries until the rest has at most `most` bytes as JSON.
fn leave_out_the_largest(metadata: &mut Metadata, most: usize) {
    let size = |part: serde_json::Result<Vec<u8>>| part.map_or(0, |json| json.len());
    let mut sizes: Vec<(usize, String)> = metadata
        .iter()
        .map(|(name, value)| {
            // With a colon and a comma.
            let entry = size(serde_json::to_vec(name)) + size(serde_json::to_vec(value)) + 2;
            (entry, name.clone())
        })
        .collect();
    sizes.sort_unstable();
    // With the braces, less one comma.
    let mut total = 1 + sizes.iter().map(|(entry, _)| entry).sum::<usize>();
    while total > most {
        let Some((entry, name)) = sizes.pop() else {
            break;
        };
        total -= entry;
        metadata.remove(&name);
    }
}

/// A header carries the key, and an empty one would make a single run of all.
pub(super) fn usable_key(key: &str) -> Result<(), InvalidField> {
    const MAX: usize = CreateTrace::MAX_IDEMPOTENCY_KEY;

    if (1..=MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(());
    }
    let problem =
        format!("must have 1 to {MAX} visible ASCII characters: send a new UUID for each run");
    Err(InvalidField::new(IDEMPOTENCY_KEY, problem))
}

impl Layout for CreateTrace {
    /// Without an idempotency key, a second submission is a second run.
    fn is_repeatable(&self) -> bool {
        self.idempotency_key.is_some()
    }

    fn body(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

#[cfg(test)]
mod tests;
