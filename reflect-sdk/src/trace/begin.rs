//! The start of a run by the body of its future.
//!
//! A body that is an async block cannot be created after the memories are there without storing its
//! captures twice. So the body is polled first: it asks the [`Traced`](super::future::Traced) future
//! around it to start the run, and is polled again once that has started.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::start::Start;
use crate::error::{Error, Result};

/// A run that the body asks its future for.
pub(super) struct Request {
    pub(super) start: Start,
    pub(super) strict: bool,
}

enum Handover {
    ToFuture(Request),
    ToBody(Box<Error>),
}

thread_local! {
    /// Passes between a body and the future around it, within one call of `poll`.
    static HANDOVER: Cell<Option<Handover>> = const { Cell::new(None) };
}

/// Returns `false` while the thread ends; the body then runs untraced.
fn hand_over(handover: Handover) -> bool {
    HANDOVER.try_with(|cell| cell.set(Some(handover))).is_ok()
}

#[inline]
fn take_handover() -> Option<Handover> {
    HANDOVER.try_with(Cell::take).ok().flatten()
}

/// The run that the body has just asked for.
#[inline]
pub(super) fn take_request() -> Option<Request> {
    match take_handover() {
        Some(Handover::ToFuture(request)) => Some(request),
        _ => None,
    }
}

/// Tells the body, which is polled next, that the run has not started.
pub(super) fn refuse(error: Error) {
    hand_over(Handover::ToBody(Box::new(error)));
}

/// Starts the run of the body that awaits this, if there is one.
#[inline]
pub fn begin(start: Option<Start>) -> Begin {
    Begin::new(start, false)
}

/// Starts the run of the body that awaits this, or returns the error of the retrieval.
pub async fn begin_strictly(start: Option<Start>) -> Result<()> {
    Begin::new(start, true).await;
    match take_handover() {
        Some(Handover::ToBody(error)) => Err(*error),
        _ => Ok(()),
    }
}

/// The future of [`begin`]. It is ready immediately if there is no run to start.
pub struct Begin(Option<Request>);

impl Begin {
    #[inline]
    fn new(start: Option<Start>, strict: bool) -> Self {
        Self(start.map(|start| Request { start, strict }))
    }
}

impl Future for Begin {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        // The future around the body takes the request as soon as the body returns: no waker needed.
        let request = self.0.take().map(Handover::ToFuture);
        if request.is_some_and(hand_over) {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

impl std::fmt::Debug for Begin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Begin").finish_non_exhaustive()
    }
}
