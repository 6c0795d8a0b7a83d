//! What memories may be like, in several versions. Reviews decide which of them to believe.

use std::sync::LazyLock;

use super::curves;
use super::kinds::Kinds;

/// One version of what memories and tasks are like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct World {
    /// The place of the curve that the effect of a specific memory follows.
    pub(super) curve: usize,
    /// The share of each kind among memories that no run was given.
    pub(super) kinds: Kinds,
    /// How far tasks differ in how easy they are, as a variance.
    pub(super) task_variance: f64,
}

/// Few memories help at any task, or many.
const KINDS: [Kinds; 2] = [
    Kinds {
        harmful: 0.32,
        general: 0.03,
        specific: 0.65,
    },
    Kinds {
        harmful: 0.32,
        general: 0.3,
        specific: 0.38,
    },
];

/// A task mostly has its own luck at each run, or much the same luck each time.
const TASK_VARIANCES: [f64; 2] = [1.0, 4.0];

/// The number of worlds.
pub(super) const COUNT: usize = curves::COUNT * KINDS.len() * TASK_VARIANCES.len();

/// Every combination.
pub(super) static WORLDS: LazyLock<[World; COUNT]> = LazyLock::new(|| {
    std::array::from_fn(|at| World {
        curve: at % curves::COUNT,
        kinds: KINDS[at / curves::COUNT % KINDS.len()],
        task_variance: TASK_VARIANCES[at / curves::COUNT / KINDS.len()],
    })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worlds_are_different_ones() {
        for (at, world) in WORLDS.iter().enumerate() {
            assert!(!WORLDS[..at].contains(world), "{world:?}");
        }
    }
}
