//! A limit on the bytes of all request bodies in memory.
//!
//! A body is small and the number of requests is limited, but their product is not: a few kilobytes of
//! gzip become megabytes.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use crate::error::ApiError;

/// The bytes that further bodies may have.
#[derive(Clone, Debug)]
pub(crate) struct BodyBudget {
    free: Arc<AtomicUsize>,
}

/// The bytes of one body, until its request is answered.
struct HeldBytes {
    budget: BodyBudget,
    count: AtomicUsize,
    is_over: AtomicBool,
}

impl BodyBudget {
    /// The bodies of the maximum length that fit.
    pub(crate) const BODIES: usize = 16;

    pub(crate) fn new(body_limit: usize) -> Self {
        let bytes = body_limit.saturating_mul(Self::BODIES);
        Self {
            free: Arc::new(AtomicUsize::new(bytes)),
        }
    }

    fn take(&self, count: usize) -> bool {
        let less = |free: usize| free.checked_sub(count);
        let order = Ordering::Relaxed;
        self.free.fetch_update(order, order, less).is_ok()
    }
}

impl HeldBytes {
    fn add(&self, count: usize) -> bool {
        let fits = self.budget.take(count);
        if fits {
            self.count.fetch_add(count, Ordering::Relaxed);
        } else {
            self.is_over.store(true, Ordering::Relaxed);
        }
        fits
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.budget
            .free
            .fetch_add(*self.count.get_mut(), Ordering::Relaxed);
    }
}

/// Counts the bytes of a body as it is read, after decompression. A request over the budget is a 503.
pub(crate) async fn count(
    State(budget): State<BodyBudget>,
    request: Request,
    next: Next,
) -> Response {
    let held = Arc::new(HeldBytes {
        budget,
        count: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    });
    let counted = request.map(|body| {
        Body::new(CountedBody {
            body,
            held: Arc::clone(&held),
        })
    });
    let response = next.run(counted).await;
    if held.is_over.load(Ordering::Relaxed) {
        return ApiError::overloaded().into_response();
    }
    response
}

struct CountedBody {
    body: Body,
    held: Arc<HeldBytes>,
}

impl HttpBody for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && !self.held.add(frame.data_ref().map_or(0, Bytes::len))
        {
            let error = axum::Error::new("over the limit of all bodies");
            return Poll::Ready(Some(Err(error)));
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
