//! The lowest similarity of a ranked memory.

/// The lowest cosine similarity of a ranked memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Floor {
    /// As asked for: nothing below it is ranked.
    Set(f64),
    /// Tasks below it have nothing in common. A memory that helps at any task is ranked all the same, unless the
    /// floor is so high that one for similar tasks could be taken for it.
    Noise(f64),
}

impl Floor {
    /// The similarity.
    pub fn similarity(self) -> f64 {
        match self {
            Self::Set(similarity) | Self::Noise(similarity) => similarity,
        }
    }
}
