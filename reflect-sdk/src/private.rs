//! What `#[reflect_trace]` expands to. It is no part of the API: it may change in any release.

use std::future::Future;
use std::pin::Pin;

pub use crate::client::{AsClient, Installed, client};
pub use crate::trace::{
    Begin, ContextParameter, Gives, MayRun, OnCancel, Opens, OptionalText, Pairs, Refuse, Shown,
    Shows, Start, Started, TaskText, Text, TraceReturn, Traced, Unsent, UntilLearned, begin,
    begin_shown, begin_shown_strictly, begin_strictly, context, described, foreign, is_recorded,
    metadata, metadata_filter, model, reference_context, run, run_shown, run_whole,
    run_whole_shown, start, start_shown_strictly, start_strictly, task, text, traced, traced_whole,
    unseen_client,
};

/// Calls the closure. Unlike a call written out, it lets the closure give away what it borrowed
/// mutably.
#[inline]
pub fn call<R, F: FnOnce() -> R>(body: F) -> R {
    body()
}

/// `Box::pin`, also where the caller has a `Box` of its own.
#[inline]
pub fn boxed<F: Future>(future: F) -> Pin<Box<F>> {
    Box::pin(future)
}
