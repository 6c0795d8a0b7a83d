//! What reviews say about a memory.

use crate::credit::Effect;

/// What reviews say about a memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merit {
    /// The memory's utility.
    pub q: f64,
    pub(crate) effect: Effect,
}

impl Merit {
    /// That of a memory with this utility that no run was given.
    pub fn untested(q: f64) -> Self {
        Self {
            q,
            effect: Effect::untested(),
        }
    }
}
