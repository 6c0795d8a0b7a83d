use std::future::Future;
use std::pin::Pin;

/// Any error, as the parts of a loop return it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A boxed future, so that the loop has no type parameters.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
