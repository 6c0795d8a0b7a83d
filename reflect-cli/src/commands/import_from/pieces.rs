//! A run and its memory, as the API shows them, as parts of an archive.

use reflect_types::{
    ArchivedMemory, ArchivedTrace, IngestStatus, Judgement, Memory, MemoryHistory, MemoryRecord,
    MemoryStatus, Piece, Reflection, Review, ReviewStatus, Trace, Validate as _, Verdict,
};

use super::ledger::Moves;
use super::time;

/// The parts of a run: its memory, if it was found, and the trace. A review whose memory was not found
/// waits in the queue, which writes its memory again.
pub(super) fn of_run(
    mut trace: Trace,
    memory: Option<Memory>,
    moves: &Moves,
    now: &str,
) -> Vec<Piece> {
    trace.created_at = Some(time::normal(trace.created_at.as_deref(), now));
    // Keys of another server.
    trace.key_id = None;
    if let Some(review) = &mut trace.review {
        review.key_id = None;
    }
    let memory = memory.map(|memory| Piece::Memory(Box::new(archived(&trace, memory, moves, now))));
    let memory = memory.filter(|memory| memory.validate().is_ok());
    if memory.is_none() && trace.review.is_some() && trace.ingest_status != IngestStatus::Failed {
        trace.created_memory_id = None;
        trace.review_status = ReviewStatus::Pending;
        trace.ingest_status = IngestStatus::Queued;
    }
    let judgement = trace.review.is_some().then(|| Judgement {
        alpha: Review::DEFAULT_ALPHA,
        reflection: None,
        created_at: trace.created_at.clone().unwrap_or_else(|| now.to_owned()),
    });
    let trace = ArchivedTrace {
        trace,
        receipt: IngestStatus::Completed,
        judgement,
        past_reviews: Vec::new(),
    };
    let trace = Piece::Trace(Box::new(trace));
    memory.into_iter().chain([trace]).collect()
}

fn archived(trace: &Trace, memory: Memory, moves: &Moves, now: &str) -> ArchivedMemory {
    let events = moves.events(&memory, now);
    let review = trace.review.as_ref();
    let passed = review.map(|review| review.result == Verdict::Pass);
    let record = MemoryRecord {
        id: memory.id.clone(),
        trace_id: trace.id.clone(),
        task: trace.task.clone(),
        success: memory.success.or(passed).unwrap_or_default(),
        q_value: events
            .last()
            .map_or(Memory::INITIAL_Q_VALUE, |event| event.after),
        uses: moves.uses(&memory.id),
        metadata: trace.metadata.clone(),
        retrieved_memory_ids: trace.retrieved_memory_ids.clone(),
        alpha: Some(Review::DEFAULT_ALPHA),
        status: MemoryStatus::Active,
        aside: None,
        merged_into: None,
        key_id: None,
        reviewer: review.and_then(|review| review.reviewer.clone()),
        created_at: time::normal(trace.created_at.as_deref(), now),
        reflection: reflection(memory),
    };
    MemoryHistory {
        memory: record,
        events,
        changes: Vec::new(),
        merged: Vec::new(),
    }
    .into()
}

/// The fields of a reflection. An older server has one text only.
fn reflection(memory: Memory) -> Reflection {
    let is_structured = [
        &memory.feedback,
        &memory.summary,
        &memory.key_mistake,
        &memory.correct_action,
        &memory.guidance,
    ]
    .iter()
    .any(|text| !text.is_empty());
    Reflection {
        feedback: memory.feedback,
        summary: if is_structured {
            memory.summary
        } else {
            memory.reflection
        },
        key_mistake: memory.key_mistake,
        correct_action: memory.correct_action,
        guidance: memory.guidance,
        applicable_tools: memory.applicable_tools,
        tools_used: memory.tools_used,
        written_by: String::new(),
    }
}
