use std::future::Future;
use std::pin::Pin;

/// Any error, as the parts of a loop give it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A future behind a pointer, so that the loop needs no type parameters.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
