use std::fmt;
use std::sync::Arc;

#[cfg(feature = "embedded")]
use super::{Embedded, Unavailable};
use super::{Http, Transport};
#[cfg(feature = "embedded")]
use crate::error::Error;

/// A transport, and how a forked child gets its own: it must not use its parent's connections.
#[derive(Clone)]
pub(crate) struct Connection {
    transport: Arc<dyn Transport>,
    in_child: Arc<dyn Fn() -> Arc<dyn Transport> + Send + Sync>,
}

impl Connection {
    /// A forked child opens connections of its own.
    pub(crate) fn http(http: Http) -> Self {
        let transport: Arc<dyn Transport> = Arc::new(http.clone());
        let in_child = move || Arc::new(http.with_new_connections()) as _;
        Self {
            transport,
            in_child: Arc::new(in_child),
        }
    }

    /// A forked child has no engine. Its threads and SQLite's connections do not survive a fork, and
    /// opening the file again is not safe: to SQLite this process still holds its parent's locks.
    #[cfg(feature = "embedded")]
    pub(crate) fn embedded(embedded: Embedded) -> Self {
        Self {
            transport: Arc::new(embedded),
            in_child: Arc::new(|| Arc::new(Unavailable(Error::Forked))),
        }
    }

    /// A forked child uses the same transport.
    pub(crate) fn shared(transport: Arc<dyn Transport>) -> Self {
        let shared = Arc::clone(&transport);
        Self {
            transport,
            in_child: Arc::new(move || Arc::clone(&shared)),
        }
    }

    pub(crate) fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    /// The connection of a forked child.
    pub(crate) fn in_child(&self) -> Self {
        Self {
            transport: (self.in_child)(),
            in_child: Arc::clone(&self.in_child),
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.transport.fmt(f)
    }
}
