//! What is decided about a run before its memories are retrieved.

use reflect_types::Arm;

use crate::client::idempotency_key;

/// The id of a new run, and its side of the comparison with and without memories.
#[derive(Debug)]
pub(super) struct Draw {
    /// Not drawn later: a forked child must not give the same run another id.
    pub(super) id: String,
    pub(super) arm: Option<Arm>,
}

impl Draw {
    /// Draws a run of which this share is given no memories. A run within one of an arm has the same: what
    /// the inner run is given helps the outer one.
    pub(super) fn new(share: f64, outer: Option<&Arm>) -> Self {
        let id = idempotency_key();
        let arm = match outer {
            Some(arm) => Some(arm.clone()),
            None => Arm::draw(&id, share),
        };
        Self { id, arm }
    }

    /// Whether the run is given no memories.
    pub(super) fn is_control(&self) -> bool {
        self.arm == Some(Arm::Control)
    }
}
