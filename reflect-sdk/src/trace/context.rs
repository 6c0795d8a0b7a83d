//! The run that the current code belongs to.

use std::cell::RefCell;
use std::future::Future;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::{fmt, mem};

use pin_project::{pin_project, pinned_drop};
use reflect_types::{Arm, Memory, MemoryId, Message, TraceId, Trajectory};
use tracing::Span;
use tracing::span::EnteredSpan;

#[cfg(feature = "tracing")]
use super::framework_spans::FrameworkSpans;
use super::handle::TraceHandle;
use super::output::TraceOutput;
use crate::client::{PromptStyle, augmented, idempotency_key};
use crate::error::Error;
use crate::outbox::Delivery;

/// The task of a run and the memories retrieved for it.
///
/// Cheap to clone, `Send` and `Sync`.
#[derive(Clone)]
pub struct TraceContext(Arc<Run>);

struct Run {
    task: String,
    /// Identifies the run before it is stored, and serves as its idempotency key.
    id: OnceLock<String>,
    parent: Option<TraceContext>,
    /// `None` for a disabled client. Boxed, so that such a run costs one allocation.
    live: Option<Box<Live>>,
}

/// The part of a run that only an enabled client needs.
struct Live {
    memories: Vec<Memory>,
    /// The task with the memories appended; `None` without memories.
    augmented: Option<String>,
    retrieval_error: Option<Error>,
    arm: Option<Arm>,
    /// Whether another run names this one as its parent.
    has_children: AtomicBool,
    notes: Mutex<Notes>,
    ended: AtomicBool,
    delivery: Arc<Delivery>,
    span: Span,
}

/// What is noted during a run.
#[derive(Default)]
struct Notes {
    recorded: Vec<Message>,
    /// The spans of frameworks that have closed.
    #[cfg(feature = "tracing")]
    framework_spans: FrameworkSpans,
    conclusion: Conclusion,
}

/// Shared state is behind a lock that is held briefly, runs no user code and survives poisoning: a panic
/// leaves nothing half done.
impl UnwindSafe for Run {}
impl RefUnwindSafe for Run {}

/// The end of a run as its guard knows it so far.
#[derive(Debug, Default)]
pub(super) struct Conclusion {
    pub(super) output: Option<TraceOutput>,
    pub(super) error: Option<String>,
}

impl TraceContext {
    pub(super) fn new(
        id: String,
        arm: Option<Arm>,
        task: String,
        memories: Result<Vec<Memory>, Error>,
        style: PromptStyle,
        parent: Option<TraceContext>,
    ) -> Self {
        let (memories, retrieval_error) = match memories {
            Ok(memories) => (memories, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        if let Some(parent) = parent.as_ref().and_then(Self::live) {
            parent.has_children.store(true, Ordering::Relaxed);
        }
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
        let augmented = (!memories.is_empty()).then(|| augmented(&task, &memories, style));
        let live = Live {
            memories,
            augmented,
            retrieval_error,
            arm,
            has_children: AtomicBool::new(false),
            notes: Mutex::default(),
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
    pub(super) fn idle(task: String, parent: Option<TraceContext>) -> Self {
        Self(Arc::new(Run {
            task,
            id: OnceLock::new(),
            parent,
            live: None,
        }))
    }

    /// Whether the client is disabled.
    pub(super) fn is_idle(&self) -> bool {
        self.0.live.is_none()
    }

    fn live(&self) -> Option<&Live> {
        self.0.live.as_deref()
    }

    /// The task, without the memories.
    pub fn task(&self) -> &str {
        &self.0.task
    }

    /// The task with the retrieved memories appended, ready for a prompt; the task alone if there are
    /// none.
    pub fn augmented_task(&self) -> &str {
        let augmented = self.live().and_then(|live| live.augmented.as_deref());
        augmented.unwrap_or(&self.0.task)
    }

    /// The retrieved memories, best first.
    pub fn memories(&self) -> &[Memory] {
        self.live().map_or(&[], |live| &live.memories)
    }

    /// The IDs of the retrieved memories, best first.
    pub fn memory_ids(&self) -> Vec<MemoryId> {
        let memories = self.memories().iter();
        memories.map(|memory| memory.id.clone()).collect()
    }

    /// The error of a failed or late retrieval, which leaves the run without memories.
    pub fn retrieval_error(&self) -> Option<&Error> {
        self.live()?.retrieval_error.as_ref()
    }

    /// The side of the comparison with and without memories that the run was drawn for; `None` without a
    /// [control arm](crate::ClientBuilder::control_share).
    pub fn arm(&self) -> Option<&Arm> {
        self.live()?.arm.as_ref()
    }

    /// Appends a message to the trajectory of the run.
    ///
    /// The messages are the trajectory of a run that fails or is cancelled before it has an output,
    /// and of one that ends with [`TraceOutput::recorded`](super::TraceOutput::recorded).
    pub fn record(&self, message: Message) {
        if !self.is_idle() {
            super::panics::forget_handled();
            self.notes(|notes| notes.recorded.push(message));
        }
    }

    /// The ID of the trace; `None` until it is stored.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.live()?.delivery.trace_id()
    }

    /// A handle to the delivery of the run.
    pub fn handle(&self) -> TraceHandle {
        match self.live() {
            Some(live) => TraceHandle::new(Arc::clone(&live.delivery)),
            None => TraceHandle::disabled().clone(),
        }
    }

    /// The ID of the run, known from its start. The metadata of a trace with a parent or a child has
    /// it as `run_id`, and that of the parent as `parent_run_id`.
    pub fn run_id(&self) -> &str {
        self.0.id.get_or_init(idempotency_key)
    }

    /// The run that this one started within.
    pub fn parent(&self) -> Option<&TraceContext> {
        self.0.parent.as_ref()
    }

    /// The run that all runs around this one started within; this one if there is none.
    pub(super) fn outermost(&self) -> &TraceContext {
        self.parent().map_or(self, Self::outermost)
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

    /// `None` for a run of a disabled client.
    fn notes<T>(&self, work: impl FnOnce(&mut Notes) -> T) -> Option<T> {
        let notes = self.live()?.notes.lock();
        Some(work(&mut notes.unwrap_or_else(PoisonError::into_inner)))
    }

    /// The recorded messages; the task as a user message if there are none.
    pub(super) fn take_recorded(&self) -> Trajectory {
        let recorded = self.notes(|notes| mem::take(&mut notes.recorded));
        let mut messages = recorded.unwrap_or_default();
        if messages.is_empty() {
            messages.push(Message::user(self.task()));
        }
        messages.into()
    }

    /// Adds a span of a framework, unless the run has ended.
    #[cfg(feature = "tracing")]
    pub(super) fn add_framework_span(&self, span: reflect_types::spans::Span) {
        self.notes(|notes| {
            if !self.has_ended() {
                notes.framework_spans.add(span);
            }
        });
    }

    /// The spans of frameworks that have closed.
    #[cfg(feature = "tracing")]
    pub(super) fn take_framework_spans(&self) -> FrameworkSpans {
        let spans = self.notes(|notes| mem::take(&mut notes.framework_spans));
        spans.unwrap_or_default()
    }

    /// Whether messages were recorded.
    #[cfg(feature = "tracing")]
    pub(super) fn has_recorded(&self) -> bool {
        let any = self.notes(|notes| !notes.recorded.is_empty());
        any.unwrap_or_default()
    }

    /// Changes the conclusion. Does nothing for a disabled client.
    pub(super) fn conclude(&self, change: impl FnOnce(&mut Conclusion)) {
        self.notes(|notes| change(&mut notes.conclusion));
    }

    pub(super) fn take_conclusion(&self) -> Conclusion {
        let conclusion = self.notes(|notes| mem::take(&mut notes.conclusion));
        conclusion.unwrap_or_default()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.live()
            .is_some_and(|live| live.ended.load(Ordering::Acquire))
    }

    /// Marks the run as ended. Returns `false` if it had ended before, or the client is disabled.
    pub(super) fn end(&self) -> bool {
        self.live()
            .is_some_and(|live| !live.ended.swap(true, Ordering::AcqRel))
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

thread_local! {
    static CURRENT: RefCell<Option<TraceContext>> = const { RefCell::new(None) };
}

/// The parent of a run that starts here: the current run, skipping those of disabled clients.
pub(super) fn parent() -> Option<TraceContext> {
    let current = TraceContext::current()?;
    if current.is_idle() {
        return current.parent().cloned();
    }
    Some(current)
}

impl TraceContext {
    /// The run that the calling code belongs to: the body of a traced function, of
    /// [`run`](super::TraceBuilder::run) or [`run_async`](super::TraceBuilder::run_async), or code put
    /// [in its scope](Self::in_scope).
    pub fn current() -> Option<TraceContext> {
        // Fails only while the thread ends.
        CURRENT
            .try_with(|current| current.borrow().clone())
            .ok()
            .flatten()
    }

    /// Calls `body` as a part of this run: [`current`](Self::current) returns this context there, and
    /// it is the parent of the runs that start there.
    pub fn in_scope<T>(&self, body: impl FnOnce() -> T) -> T {
        let _scope = self.enter();
        body()
    }

    /// Makes a future a part of this run, wherever it is polled.
    pub fn scope<F: Future>(&self, future: F) -> InScope<F> {
        InScope {
            context: self.clone(),
            future: Some(future),
        }
    }

    pub(super) fn enter(&self) -> Scope {
        let entered = self.span().map(|span| span.clone().entered());
        Scope {
            outer: swap(Some(self.clone())),
            _entered: entered,
        }
    }
}

/// Keeps a context current on this thread until it is dropped.
pub(super) struct Scope {
    outer: Option<TraceContext>,
    _entered: Option<EnteredSpan>,
}

impl Drop for Scope {
    fn drop(&mut self) {
        drop(swap(self.outer.take()));
    }
}

/// Returns the old value, so that it is not dropped while the cell is borrowed.
fn swap(context: Option<TraceContext>) -> Option<TraceContext> {
    CURRENT
        .try_with(|current| current.replace(context))
        .ok()
        .flatten()
}

/// A future that is a part of a run; see [`TraceContext::scope`].
#[pin_project(PinnedDrop)]
#[derive(Debug)]
pub struct InScope<F: Future> {
    context: TraceContext,
    #[pin]
    future: Option<F>,
}

impl<F: Future> Future for InScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _scope = this.context.enter();
        match this.future.as_pin_mut() {
            Some(future) => future.poll(cx),
            // Only `drop` takes the future out.
            None => Poll::Pending,
        }
    }
}

#[pinned_drop]
impl<F: Future> PinnedDrop for InScope<F> {
    fn drop(self: Pin<&mut Self>) {
        let mut this = self.project();
        // Destructors of the future may start and end runs.
        let _scope = this.context.enter();
        this.future.set(None);
    }
}
