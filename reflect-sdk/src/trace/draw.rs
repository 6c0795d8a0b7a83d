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
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The arm is drawn, or there is none.
    Drawn,
    /// It is to be drawn for this share of runs without memories, or for that of the client or the project.
    Open { share: Option<f64> },
}

impl Draw {
    /// A run that is not compared.
    pub(super) fn uncompared() -> Self {
        Self {
            id: idempotency_key(),
            arm: None,
            state: State::Drawn,
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
                state: State::Open { share },
                ..uncompared
            },
        }
    }

    /// Draws the arm, unless the run has one.
    pub(super) async fn close(&mut self, core: &Core) {
        if let State::Open { share } = self.state {
            self.arm = Arm::draw(&self.id, core.control_share(share).await);
            self.state = State::Drawn;
        }
    }

    /// Whether the run is given no memories.
    pub(super) fn is_control(&self) -> bool {
        self.arm == Some(Arm::Control)
    }
}
