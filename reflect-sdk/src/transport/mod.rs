//! How requests reach Reflect: over HTTP, in the same process, or by a transport of your own.

#[cfg(feature = "embedded")]
mod embedded;
mod http;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use reflect_types::ProjectId;
pub use reflect_types::{Reply, Request};

#[cfg(feature = "embedded")]
pub(crate) use self::embedded::Embedded;
pub(crate) use self::http::{Http, Timeouts};
use crate::error::Result;

/// A boxed future, as [`Transport`] returns it: `Box::pin(async move { … })`.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Carries requests to Reflect and replies back.
///
/// The client validates, retries and pages above the transport. All methods run on the client's I/O
/// thread, inside a tokio runtime with timers and sockets.
///
/// ```
/// use std::sync::Arc;
///
/// use reflect_sdk::transport::{BoxFuture, Reply, Request, Transport};
/// use reflect_sdk::types::{ErrorBody, ErrorCode};
/// use reflect_sdk::{Error, ProjectId, ReflectClient};
///
/// /// Has no memories, and stores nothing.
/// #[derive(Debug)]
/// struct Empty;
///
/// impl Transport for Empty {
///     fn call<'a>(
///         &'a self,
///         _project: &'a ProjectId,
///         request: &'a Request,
///     ) -> BoxFuture<'a, Result<Reply, Error>> {
///         Box::pin(async move {
///             match request {
///                 Request::QueryMemories(_) => Ok(Reply::QueryMemories(Vec::new())),
///                 other => {
///                     let detail = format!("`{}` is not supported", other.name());
///                     Err(ErrorBody::new(ErrorCode::NotFound, detail).into())
///                 }
///             }
///         })
///     }
/// }
///
/// let client = ReflectClient::builder().transport(Arc::new(Empty))?;
/// assert!(client.blocking().query_memories("Refund order 7").call()?.is_empty());
/// # Ok::<(), Error>(())
/// ```
pub trait Transport: fmt::Debug + Send + Sync + 'static {
    /// Carries out a request once. The reply is the variant of the request's name.
    ///
    /// A list may come in pages: [`Page::more`](reflect_types::Page::more) asks the client to fetch
    /// the next one.
    fn call<'a>(
        &'a self,
        project: &'a ProjectId,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Reply>>;

    /// The address of the server, without secrets. A spooled run is sent to the server it was
    /// recorded for; runs of a transport without an address go to any.
    fn server(&self) -> Option<String> {
        None
    }

    /// Releases what the transport holds. The client calls it once, after the last request.
    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Like [`close`](Self::close), for a transport that can do it within a limit. The client calls this
    /// one.
    fn close_within(&self, limit: Duration) -> BoxFuture<'_, ()> {
        let _ = limit;
        self.close()
    }
}
