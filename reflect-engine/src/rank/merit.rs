//! What reviews say about a memory.

use crate::learn::{Account, Effect};

/// What reviews say about a memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merit {
    /// The memory's utility.
    pub q: f64,
    pub(crate) effect: Effect,
}

impl Merit {
    /// That of a memory with this utility, and what its runs say about it.
    pub(crate) fn of(q: f64, account: Option<&Account>) -> Self {
        match account {
            Some(account) => Self {
                q,
                effect: account.effect,
            },
            None => Self::untested(q),
        }
    }

    /// That of a memory with this utility that no run was given.
    pub fn untested(q: f64) -> Self {
        Self {
            q,
            effect: Effect::untested(),
        }
    }
}
