//! Runs that record themselves, as a guard, a closure or a traced function.
#![cfg_attr(
    not(feature = "macros"),
    expect(
        unreachable_pub,
        reason = "traced functions share the machinery of closures"
    )
)]

#[cfg(feature = "macros")]
mod attribute;
mod builder;
mod context;
#[cfg(feature = "tracing")]
mod framework_spans;
mod future;
mod guard;
mod handle;
mod output;
mod panics;
mod run;
mod spans;
mod start;

#[cfg(feature = "macros")]
pub use self::attribute::{
    ContextParameter, OptionalText, Pairs, Refusal, TaskText, Text, TextValue, foreign,
    is_recorded, metadata, metadata_filter, model, open, open_strictly, pairs, reference_context,
    run, run_whole, session, task_text, text, unstarted,
};
pub use self::builder::{LearningLimit, OnCancel, TraceBuilder};
pub use self::context::{InScope, TraceContext};
#[cfg(feature = "tracing")]
pub use self::framework_spans::ReflectLayer;
#[cfg(feature = "macros")]
pub use self::future::{Begin, Slot, Traced, UntilLearned, traced, traced_whole};
pub use self::guard::TraceGuard;
pub use self::handle::TraceHandle;
#[cfg(feature = "macros")]
pub use self::output::ReturnValue;
pub use self::output::{TraceOutput, TraceRecord, TraceResult, TraceReturn};
#[cfg(feature = "macros")]
pub use self::run::OpenRun;
pub use self::start::StrictTrace;
