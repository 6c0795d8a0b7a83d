use crate::wire_enum::wire_enum;

wire_enum! {
    /// Whether a memory may be part of an answer.
    #[derive(Default)]
    pub enum MemoryStatus {
        /// It may.
        #[default]
        Active = "active",
        /// A person has set it aside.
        Quarantined = "quarantined",
    }
}
