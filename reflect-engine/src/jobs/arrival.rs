use jiff::Timestamp;
use reflect_types::{CreateTrace, KeyId, Message, TraceId};

use crate::id::new_id;
use crate::store::NewTrace;

/// A run as it is stored, without its review.
pub(crate) fn new_trace(
    trace: CreateTrace,
    key_id: Option<KeyId>,
    creates_project: bool,
    created_at: Timestamp,
) -> NewTrace {
    let trajectory = trace.trajectory.into_messages();
    let final_response = trace
        .final_response
        .unwrap_or_else(|| Message::final_response(&trajectory));
    NewTrace {
        id: TraceId::new(new_id()),
        task: trace.task,
        trajectory,
        final_response,
        retrieved_memory_ids: trace.retrieved_memory_ids,
        model: trace.model,
        metadata: trace.metadata,
        reference_context: trace.reference_context,
        arm: trace.arm,
        parent_run_id: trace.parent_run_id,
        session_id: trace.session_id,
        usage: trace.usage,
        idempotency_key: trace.idempotency_key,
        key_id,
        creates_project,
        created_at,
    }
}
