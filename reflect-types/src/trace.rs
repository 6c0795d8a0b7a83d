use serde::{Deserialize, Deserializer, Serialize};

use crate::Metadata;
use crate::arm::Arm;
use crate::error::ErrorBody;
use crate::id::{KeyId, MemoryId, TraceId};
use crate::integer;
use crate::message::Message;
use crate::review::ReviewRecord;
use crate::reviewer::ModelVerdict;
use crate::wire_enum::wire_enum;

/// The reply to `CreateTrace`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "A run that was stored."))]
pub struct TraceReceipt {
    /// The id of the stored trace.
    pub trace_id: TraceId,
    /// `queued` if a review waits to be turned into a memory, else `completed`.
    pub ingest_status: IngestStatus,
}

/// The reply to one run of `CreateTraces`, in the order of the runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BatchEntry {
    /// The run is stored.
    Receipt(TraceReceipt),
    /// The run is not stored.
    Error(ErrorBody),
}

wire_enum! {
    /// Whether a trace has a review.
    pub enum ReviewStatus {
        /// Not yet.
        Pending = "pending",
        /// Reviewed, and the memory exists.
        Reviewed = "reviewed",
    }
}

wire_enum! {
    /// The state of a trace's ingestion: turning its review into a memory.
    #[derive(Default)]
    pub enum IngestStatus {
        /// Waiting in the queue.
        Queued = "queued",
        /// In progress.
        Processing = "processing",
        /// Done.
        #[default]
        Completed = "completed",
        /// Given up; `last_ingest_error` has the reason.
        Failed = "failed",
    }
}

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Trace {
    /// The trace's id.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::id))]
    pub id: TraceId,
    /// What the agent was asked to do.
    pub task: String,
    /// The messages of the run.
    #[serde(default, deserialize_with = "null_is_default")]
    pub trajectory: Vec<Message>,
    /// The final response, or `""`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub final_response: String,
    /// The memories the agent was given.
    #[serde(default, deserialize_with = "null_is_default")]
    pub retrieved_memory_ids: Vec<MemoryId>,
    /// Given memories that the review does not credit: they did not exist when it was learned, or have been
    /// deleted or withdrawn since. A withdrawn memory that comes back leaves the list.
    #[serde(default, deserialize_with = "null_is_default")]
    pub ignored_memory_ids: Vec<MemoryId>,
    /// Whether the trace has a review.
    pub review_status: ReviewStatus,
    /// The state of its ingestion.
    #[serde(default)]
    pub ingest_status: IngestStatus,
    /// The number of ingestion attempts.
    #[serde(default, deserialize_with = "integer::read")]
    pub ingest_attempts: u32,
    /// Why the last attempt failed.
    pub last_ingest_error: Option<String>,
    /// Why the judge's last attempt gave no review, while the trace waits for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_error: Option<String>,
    /// The model that ran.
    pub model: Option<String>,
    /// Free-form data of the recorder.
    #[serde(default, deserialize_with = "null_is_default")]
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub metadata: Metadata,
    /// The policy or rules of the run.
    pub reference_context: Option<String>,
    /// The memory made from its review.
    pub created_memory_id: Option<MemoryId>,
    /// The review.
    pub review: Option<ReviewRecord>,
    /// The verdict of a model whose review was withdrawn. Such a trace is left to people.
    pub withdrawn_verdict: Option<ModelVerdict>,
    /// The API key that recorded it.
    pub key_id: Option<KeyId>,
    /// The side of the comparison with and without memories that the run was drawn for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<Arm>,
    /// When it was stored, in ISO 8601.
    #[cfg_attr(feature = "openapi", schema(schema_with = crate::openapi::optional_time))]
    pub created_at: Option<String>,
}

/// The reply to `DeleteTraces`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(description = "Runs that were removed."))]
pub struct DeletedTraces {
    /// The number of removed traces.
    #[serde(default)]
    pub deleted: u64,
    /// The removed traces; unknown ids are left out.
    #[serde(default)]
    pub trace_ids: Vec<TraceId>,
}

/// Clients in other languages send `null` where they mean "nothing".
pub(crate) fn null_is_default<'de, D, T>(from: D) -> Result<T, D::Error>
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
    fn a_sparse_trace_of_another_server_is_read() {
        let trace: Trace = serde_json::from_value(json!({
            "id": "a", "task": "t", "review_status": "escalated", "metadata": null,
            "trajectory": null, "final_response": null, "brand_new": {}
        }))
        .unwrap();
        assert_eq!(trace.review_status, ReviewStatus::Other("escalated".into()));
        assert_eq!(trace.ingest_status, IngestStatus::Completed);
    }
}
