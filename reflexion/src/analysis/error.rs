use crate::erased::BoxError;

/// Why a [`Reflector`](super::Reflector) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReflectError {
    /// The judge failed. The source is its own error.
    #[error("the judge failed")]
    Judge(#[source] BoxError),
    /// A step of a custom reflector failed. The source is its own error.
    #[error("a step of the reflector failed")]
    Step(#[source] BoxError),
}

impl ReflectError {
    /// An error of a step of a custom reflector.
    pub fn step(source: impl Into<BoxError>) -> Self {
        Self::Step(source.into())
    }
}
