use std::future::Future;
use std::pin::Pin;

use reflect_types::Message;

use crate::attempt::Attempted;
use crate::evaluation::Evaluation;

/// Any error, as the parts of a loop return it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A boxed future, so that the loop has no type parameters.
pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Makes async closures a part, which is a trait with one async method, and declares the part's
/// type-erased form.
///
/// The trait itself returns `impl Future`, so that implementors write `async fn`, and so is not
/// dyn-compatible.
macro_rules! part {
    (
        $(#[$attribute:meta])*
        $shared:ident, $dynamic:ident for $part:ident:
        $method:ident($input:ty) -> $output:ty
    ) => {
        impl<F, Fut> $part for F
        where
            F: Fn($input) -> Fut + Send + Sync + 'static,
            Fut: Future + Send,
            Fut::Output: $crate::IntoResult<$output>,
        {
            async fn $method(&self, input: $input) -> Result<$output, $crate::BoxError> {
                $crate::IntoResult::into_result(self(input).await)
            }
        }

        $(#[$attribute])*
        #[derive(Clone)]
        pub struct $shared(std::sync::Arc<dyn $dynamic>);

        impl $shared {
            /// Erases the type.
            pub fn new(part: impl $part) -> Self {
                Self(std::sync::Arc::new(part))
            }
        }

        impl $part for $shared {
            async fn $method(&self, input: $input) -> Result<$output, $crate::BoxError> {
                self.0.$method(input).await
            }
        }

        impl std::fmt::Debug for $shared {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($shared)).finish_non_exhaustive()
            }
        }

        trait $dynamic: Send + Sync {
            fn $method(
                &self,
                input: $input,
            ) -> $crate::erased::BoxFuture<'_, Result<$output, $crate::BoxError>>;
        }

        impl<T: $part> $dynamic for T {
            fn $method(
                &self,
                input: $input,
            ) -> $crate::erased::BoxFuture<'_, Result<$output, $crate::BoxError>> {
                Box::pin($part::$method(self, input))
            }
        }
    };
}

pub(crate) use part;

/// A return value of a closure that converts into a `Result<T, BoxError>`.
///
/// An actor may return a `String`, `&str`, [`Attempted`] or `Vec<Message>`; an evaluator a `bool` or
/// an [`Evaluation`]; a model, a tool or a self-reflection a `String` or `&str`; a chat model a
/// [`Message`]; each also as the `Ok` of a `Result`.
pub trait IntoResult<T> {
    /// Converts the value and boxes the error.
    fn into_result(self) -> Result<T, BoxError>;
}

impl<T, V: Into<T>, E: Into<BoxError>> IntoResult<T> for Result<V, E> {
    fn into_result(self) -> Result<T, BoxError> {
        self.map(Into::into).map_err(Into::into)
    }
}

macro_rules! values {
    ($($from:ty => $to:ty),+ $(,)?) => {$(
        impl IntoResult<$to> for $from {
            fn into_result(self) -> Result<$to, BoxError> {
                Ok(self.into())
            }
        }
    )+};
}

values! {
    String => String,
    &str => String,
    String => Attempted,
    &str => Attempted,
    Vec<Message> => Attempted,
    Attempted => Attempted,
    bool => Evaluation,
    Evaluation => Evaluation,
    Message => Message,
}
