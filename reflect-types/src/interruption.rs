use crate::Metadata;

/// Why a run ended before it had an output, as the metadata of its trace says it.
///
/// The SDK notes it. A judge does not review such a run, and a program's `fail` of one teaches at most
/// what the run did until then.
///
/// ```
/// use reflect_types::{Interruption, Metadata};
///
/// let mut metadata = Metadata::new();
/// assert_eq!(Interruption::of(&metadata), None);
/// Interruption::Error.note_in(&mut metadata);
/// assert_eq!(metadata["outcome"], "error");
/// assert_eq!(Interruption::of(&metadata), Some(Interruption::Error));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Interruption {
    /// An error or a panic.
    Error,
    /// Its future or its stream was dropped.
    Cancelled,
    /// Its guard was dropped.
    Abandoned,
}

impl Interruption {
    /// The key of the metadata.
    pub const KEY: &'static str = "outcome";
    const ALL: [Self; 3] = [Self::Error, Self::Cancelled, Self::Abandoned];

    /// The value in the metadata.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Cancelled => "cancelled",
            Self::Abandoned => "abandoned",
        }
    }

    /// What the metadata says.
    pub fn of(metadata: &Metadata) -> Option<Self> {
        let noted = metadata.get(Self::KEY)?.as_str()?;
        Self::ALL.into_iter().find(|why| why.as_str() == noted)
    }

    /// Notes it in the metadata.
    pub fn note_in(self, metadata: &mut Metadata) {
        metadata.insert(Self::KEY.to_owned(), self.as_str().into());
    }
}
