use serde::{Deserialize, Deserializer, Serialize};

use crate::Metadata;
use crate::id::{MemoryId, TraceId};
use crate::message::Message;
use crate::review::{Review, ReviewRecord};
use crate::trajectory::Trajectory;
use crate::validate::{InvalidField, Validate, not_blank};
use crate::wire_enum::wire_enum;

/// Records a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CreateTrace {
    /// What the agent was asked to do, without the memories.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, pattern = "\\S"))]
    pub task: String,
    /// All that was said and done.
    pub trajectory: Trajectory,
    /// The memories the agent was given; the review moves their utility.
    #[serde(default, deserialize_with = "null_is_default")]
    pub retrieved_memory_ids: Vec<MemoryId>,
    /// The model that did it.
    #[serde(default)]
    pub model: Option<String>,
    /// Anything else; the memory inherits it, so queries can filter on it.
    #[serde(default, deserialize_with = "null_is_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: Metadata,
    /// The answer; absent takes the last assistant message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_response: Option<String>,
    /// The policy or rules the run worked under, for the reflection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_context: Option<String>,
    /// The judgement, where it is known already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
}

impl CreateTrace {
    /// A run without a judgement yet.
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
        }
    }
}

impl Validate for CreateTrace {
    fn validate(&self) -> Result<(), InvalidField> {
        not_blank("task", &self.task, "say what the agent was asked to do")?;
        let Some(review) = &self.review else {
            return Ok(());
        };
        review.validate().map_err(|invalid| InvalidField {
            field: match invalid.field {
                "result" => "review.result",
                "alpha" => "review.alpha",
                "summary" => "review.reflection.summary",
                "guidance" => "review.reflection.guidance",
                other => other,
            },
            ..invalid
        })
    }
}

/// The answer to [`CreateTrace`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "A run that was stored."))]
pub struct TraceReceipt {
    /// The stored trace.
    pub trace_id: TraceId,
    /// `completed` where nothing is left to do, `queued` where a review is being worked on.
    pub ingest_status: IngestStatus,
}

wire_enum! {
    /// Whether a run was judged.
    pub enum ReviewStatus {
        /// Not yet.
        Pending = "pending",
        /// It was, and the memory exists.
        Reviewed = "reviewed",
    }
}

wire_enum! {
    /// How far the work on a trace has come.
    #[derive(Default)]
    pub enum IngestStatus {
        /// Waiting for its turn.
        Queued = "queued",
        /// Being worked on.
        Processing = "processing",
        /// Nothing left to do.
        #[default]
        Completed = "completed",
        /// Given up; the trace says why.
        Failed = "failed",
    }
}

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Trace {
    /// Names the run.
    pub id: TraceId,
    /// What the agent was asked to do.
    pub task: String,
    /// All that was said and done.
    #[serde(default, deserialize_with = "null_is_default")]
    pub trajectory: Vec<Message>,
    /// The answer, or `""`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub final_response: String,
    /// The memories the agent was given.
    #[serde(default, deserialize_with = "null_is_default")]
    pub retrieved_memory_ids: Vec<MemoryId>,
    /// Those of them that do not exist, and so were not moved.
    #[serde(default, deserialize_with = "null_is_default")]
    pub ignored_memory_ids: Vec<MemoryId>,
    /// Whether it was judged.
    pub review_status: ReviewStatus,
    /// How far the work on it has come.
    #[serde(default)]
    pub ingest_status: IngestStatus,
    /// How often that work was tried.
    #[serde(default)]
    pub ingest_attempts: u32,
    /// Why it failed the last time.
    #[serde(default)]
    pub last_ingest_error: Option<String>,
    /// The model that did it.
    #[serde(default)]
    pub model: Option<String>,
    /// Anything else its recorder said.
    #[serde(default, deserialize_with = "null_is_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: Metadata,
    /// The policy or rules it worked under.
    #[serde(default)]
    pub reference_context: Option<String>,
    /// The memory that its review made.
    #[serde(default)]
    pub created_memory_id: Option<MemoryId>,
    /// Its judgement.
    #[serde(default)]
    pub review: Option<ReviewRecord>,
    /// What a model said of it in a review that was taken back since, as the
    /// [note](crate::JudgeNote) of a judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_note: Option<String>,
    /// When it was stored, in ISO 8601.
    #[serde(default)]
    pub created_at: Option<String>,
}

/// Which traces to list, newest first. It travels as query parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListTraces {
    /// Only those judged, or not judged yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_status: Option<ReviewStatus>,
    /// Only those whose review has come this far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingest_status: Option<IngestStatus>,
    /// How many at the most, from 1 to 1,000; absent means 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only those older than this one: the last of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<TraceId>,
}

impl ListTraces {
    /// How many traces a page holds when nothing is said.
    pub const DEFAULT_LIMIT: u32 = 100;
    /// The most traces a page may hold.
    pub const MAX_LIMIT: u32 = 1_000;
}

impl Validate for ListTraces {
    fn validate(&self) -> Result<(), InvalidField> {
        if self
            .review_status
            .as_ref()
            .is_some_and(|status| !status.is_known())
        {
            return Err(InvalidField::new(
                "review_status",
                "must be `pending` or `reviewed`",
            ));
        }
        if self
            .ingest_status
            .as_ref()
            .is_some_and(|status| !status.is_known())
        {
            return Err(InvalidField::new(
                "ingest_status",
                "must be `queued`, `processing`, `completed` or `failed`",
            ));
        }
        if let Some(limit) = self.limit {
            if !(1..=Self::MAX_LIMIT).contains(&limit) {
                return Err(InvalidField::new(
                    "limit",
                    format!("must be from 1 to {}, got {limit}", Self::MAX_LIMIT),
                ));
            }
        }
        Ok(())
    }
}

/// Removes traces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DeleteTraces {
    /// Which.
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub trace_ids: Vec<TraceId>,
    /// Whether the memories made from them go too; by default what was learned stays.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub delete_memories: bool,
}

impl DeleteTraces {
    /// The most traces that are removed at once.
    pub const MAX_TRACES: usize = 1_000;
}

impl Validate for DeleteTraces {
    fn validate(&self) -> Result<(), InvalidField> {
        if self.trace_ids.is_empty() {
            return Err(InvalidField::new(
                "trace_ids",
                "is empty: name the traces to delete",
            ));
        }
        if self.trace_ids.len() > Self::MAX_TRACES {
            return Err(InvalidField::new(
                "trace_ids",
                format!(
                    "must name at most {}, got {}: delete them in parts",
                    Self::MAX_TRACES,
                    self.trace_ids.len()
                ),
            ));
        }
        Ok(())
    }
}

/// The answer to [`DeleteTraces`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "Runs that were removed."))]
pub struct DeletedTraces {
    /// How many there were.
    #[serde(default)]
    pub deleted: u64,
    /// Which they were; ids that did not exist are not among them.
    #[serde(default)]
    pub trace_ids: Vec<TraceId>,
}

/// Clients in other languages send `null` where they mean "nothing".
fn null_is_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_trace_sends_what_the_api_always_expects_and_nothing_else() {
        assert_eq!(
            serde_json::to_value(CreateTrace::new("t", "prose")).unwrap(),
            json!({
                "task": "t", "trajectory": "prose", "retrieved_memory_ids": [],
                "model": null, "metadata": {}
            })
        );
    }

    #[test]
    fn a_sparse_trace_of_another_server_is_read() {
        let trace: Trace = serde_json::from_value(json!({
            "id": "a", "task": "t", "review_status": "escalated", "metadata": null,
            "trajectory": null, "final_response": null, "brand_new": {}
        }))
        .unwrap();
        assert_eq!(trace.review_status, ReviewStatus::Other("escalated".into()));
        assert_eq!(trace.ingest_status, IngestStatus::Completed);
    }

    #[test]
    fn a_bad_inline_review_is_named_where_it_stands() {
        let mut trace = CreateTrace::new("t", "prose");
        trace.review = Some(Review::pass().alpha(-0.1));
        assert_eq!(trace.validate().unwrap_err().field, "review.alpha");
    }
}
