use crate::wire_enum::wire_enum;

wire_enum! {
    /// Whether a memory may be part of an answer.
    #[derive(Default)]
    pub enum MemoryStatus {
        /// It may.
        #[default]
        Active = "active",
        /// A person has set it aside, or Reflect itself because it does harm.
        Quarantined = "quarantined",
        /// Reflect itself has set it aside, because the project keeps a limited number of memories in answers.
        Archived = "archived",
        /// A person has merged it into another memory, or Reflect itself into an older one that says nearly the
        /// same.
        Merged = "merged",
        /// It waits for a person's approval, because the project asks for one.
        Staged = "staged",
        /// Its review was withdrawn. Only archives have such a memory.
        Withdrawn = "withdrawn",
    }
}

impl MemoryStatus {
    /// Whether a memory outside of an archive can have this status.
    pub(crate) fn is_listed(&self) -> bool {
        matches!(
            self,
            Self::Active | Self::Quarantined | Self::Archived | Self::Merged | Self::Staged
        )
    }

    /// Whether Reflect itself can give a memory this status.
    pub(crate) fn is_automatic(&self) -> bool {
        matches!(
            self,
            Self::Quarantined | Self::Archived | Self::Merged | Self::Staged
        )
    }

    /// Whether a person can give a memory this status.
    pub(crate) fn is_settable(&self) -> bool {
        matches!(self, Self::Active | Self::Quarantined)
    }
}
