//! A reviewed run, as the model sees it.

pub(super) struct Observation {
    /// The place of its task.
    pub(super) task: usize,
    pub(super) passed: bool,
    /// How much its verdict counts, from 0 to 1.
    pub(super) weight: f64,
    pub(super) given: Box<[Exposure]>,
}

/// A memory that a run was given.
#[derive(Clone)]
pub(super) struct Exposure {
    /// The place of the memory.
    pub(super) memory: usize,
    /// Of the memory's task to the run's.
    pub(super) similarity: f64,
}
