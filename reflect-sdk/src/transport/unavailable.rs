use reflect_types::ProjectId;

use super::{BoxFuture, Reply, Request, Transport};
use crate::error::{Error, Result};

/// A transport that answers every request with the same error: that of a disabled client, or of an
/// embedded engine in a forked child.
#[derive(Debug)]
pub(crate) struct Unavailable(pub(crate) Error);

impl Transport for Unavailable {
    fn call<'a>(&'a self, _: &'a ProjectId, _: &'a Request) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(std::future::ready(Err(self.0.duplicate())))
    }
}
