use reflect_types::Message;

use crate::attempt::Attempted;
use crate::erased::BoxError;
use crate::evaluation::Evaluation;

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
