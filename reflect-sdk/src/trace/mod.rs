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
mod failure;
mod fold;
#[cfg(feature = "tracing")]
mod framework_spans;
mod future;
mod guard;
mod handle;
mod output;
mod panics;
mod ruled;
mod run;
mod said;
mod scope;
mod start;
mod stream;
#[cfg(feature = "macros")]
mod stream_fn;
mod transient;

#[cfg(feature = "macros")]
pub use self::attribute::{
    ContextParameter, OptionalText, Pairs, Refusal, TaskText, Text, TextValue, auto_fail, foreign,
    is_recorded, metadata, metadata_filter, model, open, open_strictly, pairs, reference_context,
    run, run_whole, session, task_text, text, unstarted,
};
pub use self::builder::{LearningLimit, OnCancel, TraceBuilder};
pub use self::context::TraceContext;
pub use self::failure::Failure;
#[cfg(feature = "macros")]
pub use self::failure::{ByError, ByRecord, ByReport, Inspect, inspect, ruled};
pub use self::fold::StreamText;
#[cfg(feature = "macros")]
pub use self::fold::{Fallible, Plain, joined};
#[cfg(feature = "tracing")]
pub use self::framework_spans::ReflectLayer;
#[cfg(feature = "macros")]
pub use self::future::{Begin, Slot, Traced, UntilLearned, traced, traced_whole};
pub use self::guard::TraceGuard;
pub use self::handle::TraceHandle;
#[cfg(feature = "macros")]
pub use self::output::ReturnValue;
pub use self::output::{TraceOutput, TraceRecord, TraceResult, TraceReturn};
pub use self::ruled::{AutoFail, RuledTrace};
#[cfg(feature = "macros")]
pub use self::run::OpenRun;
pub use self::scope::InScope;
pub use self::start::StrictTrace;
#[cfg(feature = "macros")]
pub use self::stream_fn::{Lazy, folded, lazy_stream, recorded, run_stream, traced_stream};
pub use self::transient::is_transient;
