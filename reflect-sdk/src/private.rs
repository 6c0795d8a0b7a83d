//! The runtime of `#[reflect_trace]`. Not a part of the API: it may change in any release.

use std::pin::Pin;

pub use futures_core::Stream;

pub use crate::client::{AsClient, Installed, client};
pub use crate::trace::{
    Begin, ByError, ByRecord, ByReport, ContextParameter, Fallible, Inspect, Lazy, OnCancel,
    OpenRun, OptionalText, Pairs, Plain, Refusal, ReturnValue, Slot, TaskText, Text, TextValue,
    TraceReturn, Traced, UntilLearned, auto_fail, folded, foreign, inspect, is_recorded, joined,
    lazy_stream, metadata, metadata_filter, model, open, open_strictly, pairs, recorded,
    reference_context, ruled, run, run_stream, run_whole, session, task_text, text, traced,
    traced_stream, traced_whole, unstarted,
};

/// Calls the closure. Unlike a direct call, it lets the closure return what it borrows mutably.
#[inline]
pub fn call<R, F: FnOnce() -> R>(body: F) -> R {
    body()
}

/// `Box::pin`, even where the caller has shadowed `Box`.
#[inline]
pub fn boxed<T>(value: T) -> Pin<Box<T>> {
    Box::pin(value)
}
