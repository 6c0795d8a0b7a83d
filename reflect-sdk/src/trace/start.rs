//! The start of a run.

use super::ambient::parent;
use super::builder::TraceBuilder;
use super::context::TraceContext;
use super::open::OpenRun;

/// What a body runs as. A traced function has none if it is a plain call: there is no client, and
/// nothing can see a context.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "macros"),
    expect(dead_code, reason = "only traced functions start in every way")
)]
pub enum Start {
    /// A run of a disabled client: the body has a context, and nothing is recorded.
    Idle(TraceContext),
    /// A run to start. Boxed to keep untraced calls cheap.
    New(Box<TraceBuilder>),
    /// A run that has started.
    Open(Box<OpenRun>),
}

impl Start {
    pub(super) fn of(builder: TraceBuilder) -> Self {
        if builder.is_enabled() {
            Self::New(Box::new(builder))
        } else {
            Self::idle(builder.into_task())
        }
    }

    /// A run of a disabled client.
    pub(super) fn idle(task: String) -> Self {
        Self::Idle(TraceContext::idle(task, parent()))
    }
}
