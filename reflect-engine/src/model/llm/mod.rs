//! The adapters that ask a model: for reflections, for guides, for vectors.

mod cache;
mod embedder;
mod reflector;
mod skill;

pub use embedder::ModelEmbedder;
pub use reflector::LlmReflector;
pub use skill::LlmSkillWriter;

use std::time::Duration;

use super::Error;
use super::prose::{clean, clip, without_tags};

impl From<reflect_models::Error> for Error {
    fn from(error: reflect_models::Error) -> Self {
        Self {
            message: error.to_string(),
            retryable: error.is_retryable(),
            source: Some(error.into()),
        }
    }
}

/// How long a model's server asks to be left alone.
pub(crate) fn retry_after(error: &Error) -> Option<Duration> {
    let source = error.source.as_ref()?;
    source
        .downcast_ref::<reflect_models::Error>()?
        .retry_after()
}

/// Whether the settings, the key or the account are at fault, and not what was asked.
pub(crate) fn is_setup(error: &Error) -> bool {
    let source = error.source.as_ref();
    let source = source.and_then(|source| source.downcast_ref::<reflect_models::Error>());
    source.is_some_and(reflect_models::Error::is_setup)
}

/// What a model wrote, as it may be stored: on one line, without control or hidden characters, in at
/// most so many words.
fn tamed(text: &str, words: usize) -> String {
    without_tags(&clip(&clean(text), words))
}
