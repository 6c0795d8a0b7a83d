use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reflect_types::{Memory, MemoryId, Message, TraceId, Trajectory};
use tracing::Span;

use super::handle::TraceHandle;
use crate::client::{AugmentedTask, idempotency_key};
use crate::error::Error;
use crate::worker::delivery::Delivery;

/// What a run knows: its task, and what was learned from earlier ones.
///
/// It is cheap to clone, and can be sent and shared.
#[derive(Clone)]
pub struct TraceContext(Arc<Run>);

struct Run {
    /// Names the run before it is stored; it is the idempotency key too.
    id: String,
    augmented: AugmentedTask,
    retrieval_error: Option<Error>,
    parent: Option<TraceContext>,
    /// Whether another run names this one as its parent.
    has_children: AtomicBool,
    recorded: Mutex<Vec<Message>>,
    delivery: Arc<Delivery>,
    span: Span,
}

impl TraceContext {
    pub(super) fn new(
        task: String,
        memories: Result<Vec<Memory>, Option<Error>>,
        parent: Option<TraceContext>,
    ) -> Self {
        let (memories, retrieval_error) = match memories {
            Ok(memories) => (memories, None),
            Err(error) => (Vec::new(), error),
        };
        if let Some(parent) = &parent {
            parent.0.has_children.store(true, Ordering::Relaxed);
        }
        let id = idempotency_key();
        let span = tracing::info_span!(
            target: "reflect",
            "reflect.run",
            run_id = %id,
            task = %task,
            memories = memories.len(),
            outcome = tracing::field::Empty,
            otel.status_code = tracing::field::Empty,
            otel.status_description = tracing::field::Empty,
        );
        Self(Arc::new(Run {
            id,
            augmented: AugmentedTask::new(task, memories),
            retrieval_error,
            parent,
            has_children: AtomicBool::new(false),
            recorded: Mutex::default(),
            delivery: Arc::default(),
            span,
        }))
    }

    /// What the agent was asked to do, without the memories.
    pub fn task(&self) -> &str {
        &self.0.augmented.task
    }

    /// The task with its memories put behind it, ready for a prompt; the task alone where there are
    /// none.
    pub fn augmented_task(&self) -> &str {
        &self.0.augmented.augmented_task
    }

    /// The memories that were found, best first.
    pub fn memories(&self) -> &[Memory] {
        &self.0.augmented.memories
    }

    /// Their ids, in the same order.
    pub fn memory_ids(&self) -> Vec<MemoryId> {
        self.0.augmented.memory_ids()
    }

    /// Why there are no memories, where they could not be asked for, or did not come in time.
    pub fn retrieval_error(&self) -> Option<&Error> {
        self.0.retrieval_error.as_ref()
    }

    /// Notes a step of the run as it goes, so that it is known even if the run ends badly.
    ///
    /// The notes are what is recorded of a run that fails or is cancelled before it says anything
    /// else, and of one that ends with [`TraceOutput::recorded`](super::TraceOutput::recorded).
    pub fn record(&self, message: Message) {
        self.recorded().push(message);
    }

    /// The stored trace; `None` as long as it is not stored.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.0.delivery.trace_id()
    }

    /// Tells what became of the run.
    pub fn handle(&self) -> TraceHandle {
        TraceHandle::new(Arc::clone(&self.0.delivery))
    }

    /// Names the run from its start on. A trace that has a parent or a child says so in its
    /// metadata: `run_id` and `parent_run_id`.
    pub fn run_id(&self) -> &str {
        &self.0.id
    }

    /// The run within which this one started.
    pub fn parent(&self) -> Option<&TraceContext> {
        self.0.parent.as_ref()
    }

    pub(super) fn has_children(&self) -> bool {
        self.0.has_children.load(Ordering::Relaxed)
    }

    pub(super) fn delivery(&self) -> &Arc<Delivery> {
        &self.0.delivery
    }

    pub(super) fn span(&self) -> &Span {
        &self.0.span
    }

    /// What was noted; the task, as a user's message, where nothing was.
    pub(super) fn take_recorded(&self) -> Trajectory {
        let mut messages = std::mem::take(&mut *self.recorded());
        if messages.is_empty() {
            messages.push(Message::user(self.task()));
        }
        messages.into()
    }

    fn recorded(&self) -> MutexGuard<'_, Vec<Message>> {
        self.0
            .recorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceContext")
            .field("run_id", &self.0.id)
            .field("task", &self.task())
            .field("memories", &self.memories().len())
            .field("retrieval_error", &self.0.retrieval_error)
            .finish_non_exhaustive()
    }
}
