/// What became of a skill to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillWrite {
    /// It is stored.
    Stored,
    /// Its version is not the next one.
    NotNext,
    /// A memory it was written from has changed, or is not active.
    SourcesChanged,
}
