use crate::reflexion::BoxError;

/// Why a reflection could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReflectError {
    /// The judge failed; its own error is the source.
    #[error("the judge failed")]
    Judge(#[source] BoxError),
    /// A step of a reflector of your own failed; its own error is the source.
    #[error("a step of the reflector failed")]
    Step(#[source] BoxError),
}

impl ReflectError {
    /// An error of a step of your own.
    pub fn step(source: impl Into<BoxError>) -> Self {
        Self::Step(source.into())
    }
}
