//! What is known about a memory.

use super::effect::Effect;
use super::kinds::Kinds;

/// What is known about a memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Account {
    /// The number of reviewed runs that were given it.
    pub(crate) runs: u32,
    /// How many of them passed.
    pub(crate) passed: u32,
    /// What kind of memory it is.
    pub(crate) kinds: Kinds,
    /// What is expected of it.
    pub(crate) effect: Effect,
}

/// How many runs there are, and how many of them passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PassCount {
    pub(crate) runs: u32,
    pub(crate) passed: u32,
}

impl PassCount {
    pub(super) fn add(&mut self, passed: bool) {
        self.runs += 1;
        self.passed += u32::from(passed);
    }

    /// The runs that are not among these.
    pub(crate) fn without(self, some: Self) -> Self {
        Self {
            runs: self.runs.saturating_sub(some.runs),
            passed: self.passed.saturating_sub(some.passed),
        }
    }
}
