//! Bodies that a refused request leaves unread.
//!
//! Closing a connection with unread data resets it, and the client may lose the reply: it sees a broken
//! pipe instead of a 401. So the rest of the body is read and discarded first, within limits.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::EXPECT;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// The most bytes that are discarded.
const LIMIT: usize = 32 * 1024 * 1024;
/// Timeout of discarding.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A request's body, also after its handler has dropped it.
pub(crate) struct UnreadBody {
    body: SharedBody,
    /// Whether the client waits for a `100 Continue` before it sends the body.
    is_held_back: bool,
}

/// A body with two owners: the handler and [`UnreadBody`].
#[derive(Clone)]
struct SharedBody(Arc<Mutex<Body>>);

impl UnreadBody {
    /// Shares the body of a request.
    pub(crate) fn of(request: &mut Request) -> Self {
        let is_held_back = request.headers().contains_key(EXPECT);
        let body = std::mem::take(request.body_mut());
        let body = SharedBody(Arc::new(Mutex::new(body)));
        *request.body_mut() = Body::new(body.clone());
        Self { body, is_held_back }
    }

    /// Reads and discards the rest of the body, within limits. An error means that there is no more.
    pub(crate) async fn discard(mut self) {
        let declared = self.body.size_hint().lower();
        if self.is_held_back || self.body.is_end_stream() || declared > LIMIT as u64 {
            return;
        }
        let discarding = async {
            let mut discarded = 0;
            while discarded <= LIMIT
                && let Some(Ok(frame)) = self.next().await
            {
                discarded += frame.data_ref().map_or(0, Bytes::len);
            }
        };
        // After the timeout, the connection is closed with unread data.
        let _ = tokio::time::timeout(TIMEOUT, discarding).await;
    }

    async fn next(&mut self) -> Option<Result<Frame<Bytes>, axum::Error>> {
        poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await
    }
}

impl SharedBody {
    fn lock(&self) -> MutexGuard<'_, Body> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpBody for SharedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut *self.lock()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.lock().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.lock().size_hint()
    }
}
