//! Runs that record themselves, as a guard, a closure or a traced function.
#![cfg_attr(
    not(feature = "macros"),
    expect(
        unreachable_pub,
        reason = "traced functions share the machinery of closures"
    )
)]

mod ambient;
#[cfg(feature = "macros")]
mod arguments;
mod begin;
mod builder;
mod closure;
mod context;
mod draw;
mod ending;
#[cfg(feature = "macros")]
mod function;
mod future;
mod guard;
mod handle;
#[cfg(feature = "tracing")]
mod heard;
#[cfg(feature = "tracing")]
mod heard_spans;
#[cfg(feature = "tracing")]
mod layer;
mod open;
mod options;
mod output;
mod panic_hook;
#[cfg(feature = "macros")]
mod parameter;
#[cfg(feature = "panic-hook")]
mod rescue;
mod result;
mod returns;
mod start;
mod user_code;

pub use self::ambient::InScope;
pub use self::builder::{StrictTrace, TraceBuilder};
pub use self::context::TraceContext;
pub use self::guard::TraceGuard;
pub use self::handle::TraceHandle;
#[cfg(feature = "tracing")]
pub use self::layer::ReflectLayer;
pub use self::options::{BlockingLimit, OnCancel};
pub use self::output::TraceOutput;
pub use self::result::TraceResult;
pub use self::returns::{TraceRecord, TraceReturn};
#[cfg(feature = "macros")]
pub use self::{
    ambient::context,
    arguments::{
        OptionalText, Pairs, TaskText, Text, TextValue, metadata, metadata_filter, model, pairs,
        reference_context, task, task_text, text, value,
    },
    begin::{Begin, begin, begin_strictly},
    function::{
        Refusal, described, foreign, idle, is_recorded, run, run_whole, start, start_strictly,
        survived_client, trace, unseen_client,
    },
    future::{Traced, UntilLearned, traced, traced_whole},
    open::OpenRun,
    parameter::ContextParameter,
    returns::ReturnValue,
    start::Start,
};
