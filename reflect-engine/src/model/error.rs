use std::time::Duration;

/// The failure of a model.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The reason, for a person.
    pub message: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// The error of the model's client.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[cfg(feature = "models")]
impl From<reflect_models::Error> for Error {
    fn from(error: reflect_models::Error) -> Self {
        Self {
            message: error.to_string(),
            retryable: error.is_retryable(),
            source: Some(error.into()),
        }
    }
}

/// The `Retry-After` delay of the model's server, if any.
#[cfg(feature = "models")]
pub(crate) fn retry_after(error: &Error) -> Option<Duration> {
    client_error(error)?.retry_after()
}

/// Whether the settings, the key or the account are at fault, so that every call fails.
#[cfg(feature = "models")]
pub(crate) fn is_setup(error: &Error) -> bool {
    client_error(error).is_some_and(reflect_models::Error::is_setup)
}

#[cfg(feature = "models")]
fn client_error(error: &Error) -> Option<&reflect_models::Error> {
    error.source.as_ref()?.downcast_ref()
}

/// The `Retry-After` delay of the model's server, if any.
#[cfg(not(feature = "models"))]
pub(crate) fn retry_after(_: &Error) -> Option<Duration> {
    None
}

/// Whether the settings, the key or the account are at fault, so that every call fails.
#[cfg(not(feature = "models"))]
pub(crate) fn is_setup(_: &Error) -> bool {
    false
}
