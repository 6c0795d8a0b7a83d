//! What is decided about a run before its memories are retrieved.

use reflect_types::Arm;

use crate::client::idempotency_key;
use crate::core::Core;

/// The id of a new run, and its side of the comparison with and without memories.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    /// Not drawn later: a forked child must not give the same run another id.
    pub(super) id: String,
    pub(super) arm: Option<Arm>,
    /// The share of runs without memories that the arm is still to be drawn for: that of the builder, or
    /// else of the client or the project.
    open: Option<Option<f64>>,
}

impl Draw {
    /// A run that is not compared.
    pub(super) fn uncompared() -> Self {
        Self {
            id: idempotency_key(),
            arm: None,
            open: None,
        }
    }

    /// A run of which this share, if given, is given no memories. A run within one of an arm has the same:
    /// what the inner run is given helps the outer one.
    pub(super) fn new(share: Option<f64>, outer: Option<&Arm>) -> Self {
        let uncompared = Self::uncompared();
        match outer {
            Some(arm) => Self {
                arm: Some(arm.clone()),
                ..uncompared
            },
            None => Self {
                open: Some(share),
                ..uncompared
            },
        }
    }

    /// Draws the arm, unless the run has one.
    pub(super) async fn close(&mut self, core: &Core) {
        if let Some(asked) = self.open.take() {
            self.arm = Arm::draw(&self.id, core.control_share(asked).await);
        }
    }

    /// Whether the run is given no memories.
    pub(super) fn is_control(&self) -> bool {
        self.arm == Some(Arm::Control)
    }
}
