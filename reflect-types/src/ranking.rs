use crate::wire_enum::wire_enum;

wire_enum! {
    /// How memories are ranked.
    #[derive(Default)]
    pub enum Ranking {
        /// By the effect on the run that reviews have shown. Memories that would hurt are left out.
        #[default]
        Learned = "learned",
        /// By `(1 - lambda) * similarity + lambda * q_value`.
        Classic = "classic",
    }
}
