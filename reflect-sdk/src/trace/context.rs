use std::fmt;
use std::mem;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use reflect_types::{Memory, MemoryId, Message, TraceId, Trajectory};
use tracing::Span;

use super::handle::TraceHandle;
use super::output::TraceOutput;
use crate::client::{augmented, idempotency_key};
use crate::error::Error;
use crate::outbox::Delivery;

/// What a run knows: its task, and what was learned from earlier ones.
///
/// It is cheap to clone, and can be sent and shared.
#[derive(Clone)]
pub struct TraceContext(Arc<Run>);

struct Run {
    task: String,
    /// Names the run before it is stored; it is the idempotency key too.
    id: OnceLock<String>,
    parent: Option<TraceContext>,
    /// `None` where the client is disabled. Apart, so that such a run costs next to nothing.
    live: Option<Box<Live>>,
}

/// What only a run has of which something may be recorded.
struct Live {
    memories: Vec<Memory>,
    /// The task with the memories; `None` where there are none.
    augmented: Option<String>,
    retrieval_error: Option<Error>,
    /// Whether another run names this one as its parent.
    has_children: AtomicBool,
    recorded: Mutex<Vec<Message>>,
    said: Mutex<Said>,
    ended: AtomicBool,
    delivery: Arc<Delivery>,
    span: Span,
}

/// What is shared and changes is behind locks that are held for a moment, with none of the user's
/// code run meanwhile, and that survive being poisoned: a panic leaves nothing half done.
impl UnwindSafe for Run {}
impl RefUnwindSafe for Run {}

/// What a guard was told about the end of its run so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) output: Option<TraceOutput>,
    pub(super) error: Option<String>,
}

impl TraceContext {
    /// A run within the current one.
    pub(super) fn new(task: String, memories: Result<Vec<Memory>, Error>) -> Self {
        let (memories, retrieval_error) = match memories {
            Ok(memories) => (memories, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let parent = Self::current_live();
        if let Some(parent) = parent.as_ref().and_then(Self::live) {
            parent.has_children.store(true, Ordering::Relaxed);
        }
        // At once, because a forked child must not give the same run another name.
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
        let augmented = (!memories.is_empty()).then(|| augmented(&task, &memories));
        let live = Live {
            memories,
            augmented,
            retrieval_error,
            has_children: AtomicBool::new(false),
            recorded: Mutex::default(),
            said: Mutex::default(),
            ended: AtomicBool::new(false),
            delivery: Arc::default(),
            span,
        };
        Self(Arc::new(Run {
            task,
            id: OnceLock::from(id),
            parent,
            live: Some(Box::new(live)),
        }))
    }

    /// A run of a disabled client.
    pub(super) fn idle(task: String) -> Self {
        Self(Arc::new(Run {
            task,
            id: OnceLock::new(),
            parent: Self::current_live(),
            live: None,
        }))
    }

    /// The run that the calling code belongs to, past those of disabled clients.
    fn current_live() -> Option<Self> {
        let current = Self::current()?;
        if current.is_idle() {
            return current.0.parent.clone();
        }
        Some(current)
    }

    /// Whether it is a run of a disabled client.
    pub(super) fn is_idle(&self) -> bool {
        self.0.live.is_none()
    }

    fn live(&self) -> Option<&Live> {
        self.0.live.as_deref()
    }

    /// What the agent was asked to do, without the memories.
    pub fn task(&self) -> &str {
        &self.0.task
    }

    /// The task with its memories put behind it, ready for a prompt; the task alone where there are
    /// none.
    pub fn augmented_task(&self) -> &str {
        let augmented = self.live().and_then(|live| live.augmented.as_deref());
        augmented.unwrap_or(&self.0.task)
    }

    /// The memories that were found, best first.
    pub fn memories(&self) -> &[Memory] {
        self.live().map_or(&[], |live| &live.memories)
    }

    /// Their ids, in the same order.
    pub fn memory_ids(&self) -> Vec<MemoryId> {
        let memories = self.memories().iter();
        memories.map(|memory| memory.id.clone()).collect()
    }

    /// Why there are no memories, where they could not be asked for, or did not come in time.
    pub fn retrieval_error(&self) -> Option<&Error> {
        self.live()?.retrieval_error.as_ref()
    }

    /// Notes a step of the run as it goes, so that it is known even if the run ends badly.
    ///
    /// The notes are what is recorded of a run that fails or is cancelled before it says anything
    /// else, and of one that ends with [`TraceOutput::recorded`](super::TraceOutput::recorded).
    pub fn record(&self, message: Message) {
        if let Some(live) = self.live() {
            super::panics::over();
            live.recorded().push(message);
        }
    }

    /// The stored trace; `None` as long as it is not stored.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.live()?.delivery.trace_id()
    }

    /// Tells what became of the run.
    pub fn handle(&self) -> TraceHandle {
        match self.live() {
            Some(live) => TraceHandle::new(Arc::clone(&live.delivery)),
            None => TraceHandle::disabled().clone(),
        }
    }

    /// Names the run from its start on. A trace that has a parent or a child says so in its
    /// metadata: `run_id` and `parent_run_id`.
    pub fn run_id(&self) -> &str {
        self.0.id.get_or_init(idempotency_key)
    }

    /// The run within which this one started.
    pub fn parent(&self) -> Option<&TraceContext> {
        self.0.parent.as_ref()
    }

    pub(super) fn has_children(&self) -> bool {
        self.live()
            .is_some_and(|live| live.has_children.load(Ordering::Relaxed))
    }

    /// `None` for a run of a disabled client.
    pub(super) fn delivery(&self) -> Option<&Arc<Delivery>> {
        self.live().map(|live| &live.delivery)
    }

    /// `None` for a run of a disabled client.
    pub(super) fn span(&self) -> Option<&Span> {
        self.live().map(|live| &live.span)
    }

    /// What was noted; the task, as a user's message, where nothing was.
    pub(super) fn take_recorded(&self) -> Trajectory {
        let noted = self.live().map(|live| mem::take(&mut *live.recorded()));
        let mut messages = noted.unwrap_or_default();
        if messages.is_empty() {
            messages.push(Message::user(self.task()));
        }
        messages.into()
    }

    /// Changes what is said about the end. Nobody listens for a disabled client.
    pub(super) fn say(&self, change: impl FnOnce(&mut Said)) {
        if let Some(live) = self.live() {
            change(&mut live.said());
        }
    }

    pub(super) fn take_said(&self) -> Said {
        self.live()
            .map(|live| mem::take(&mut *live.said()))
            .unwrap_or_default()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.live()
            .is_some_and(|live| live.ended.load(Ordering::Acquire))
    }

    /// Ends the run; tells whether it had not ended before, and there is something to end.
    pub(super) fn end(&self) -> bool {
        self.live()
            .is_some_and(|live| !live.ended.swap(true, Ordering::AcqRel))
    }
}

impl Live {
    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recorded(&self) -> MutexGuard<'_, Vec<Message>> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceContext")
            .field("run_id", &self.run_id())
            .field("task", &self.task())
            .field("memories", &self.memories().len())
            .field("retrieval_error", &self.retrieval_error())
            .finish_non_exhaustive()
    }
}
