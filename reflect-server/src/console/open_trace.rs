//! A trace with the memories that it was given.

use reflect_engine::Appraisal;
use reflect_types::{ListMemories, Trace, TraceId};

use super::answer::Problem;
use super::visit::Visit;
use crate::reply::ReplySlot;

/// A trace that a page shows. It may be long, so the page has a slot of replies.
pub(super) struct OpenTrace {
    pub(super) slot: ReplySlot,
    pub(super) trace: Trace,
    /// The memories it was given, for a visitor who may read them.
    pub(super) given: Vec<Appraisal>,
}

impl OpenTrace {
    pub(super) async fn read(visit: &Visit, id: &TraceId) -> Result<Self, Problem> {
        let (slot, trace) = Self::held(visit, id).await?;
        let ids = trace.retrieved_memory_ids.clone();
        if ids.is_empty() || !visit.may::<ListMemories>() {
            let given = Vec::new();
            return Ok(Self { slot, trace, given });
        }
        let task = trace.task.clone();
        // Its task is embedded, which may take long: meanwhile, other replies may have the slot.
        drop((slot, trace));
        let given = visit.engine().appraise(&visit.project, &task, &ids).await?;
        let (slot, trace) = Self::held(visit, id).await?;
        Ok(Self { slot, trace, given })
    }

    /// The trace alone.
    pub(super) async fn held(visit: &Visit, id: &TraceId) -> Result<(ReplySlot, Trace), Problem> {
        let slot = visit.slot().await?;
        let trace = visit.engine().get_trace(&visit.project, id).await?;
        Ok((slot, trace))
    }
}
