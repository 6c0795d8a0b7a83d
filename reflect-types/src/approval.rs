use crate::wire_enum::wire_enum;

wire_enum! {
    /// Which new memories wait for a person's approval before they are part of answers.
    pub enum Approval {
        /// All of them.
        First = "first",
        /// Those that were learned from a model's review.
        Models = "models",
    }
}
