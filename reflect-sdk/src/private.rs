//! The runtime of `#[reflect_trace]`. Not a part of the API: it may change in any release.

use std::future::Future;
use std::pin::Pin;

pub use crate::client::{AsClient, Installed, client};
pub use crate::trace::{
    Begin, ByError, ByRecord, ByReport, ContextParameter, Inspect, OnCancel, OpenRun, OptionalText,
    Pairs, Refusal, ReturnValue, Slot, TaskText, Text, TextValue, TraceReturn, Traced,
    UntilLearned, auto_fail, foreign, inspect, is_recorded, metadata, metadata_filter, model, open,
    open_strictly, pairs, reference_context, ruled, run, run_whole, task_text, text, traced,
    traced_whole, unstarted,
};

/// Calls the closure. Unlike a direct call, it lets the closure return what it borrows mutably.
#[inline]
pub fn call<R, F: FnOnce() -> R>(body: F) -> R {
    body()
}

/// `Box::pin`, even where the caller has shadowed `Box`.
#[inline]
pub fn boxed<F: Future>(future: F) -> Pin<Box<F>> {
    Box::pin(future)
}
