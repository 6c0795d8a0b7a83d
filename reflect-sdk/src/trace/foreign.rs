//! Traced functions that other languages may call, which no panic may leave.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::traced::{Opens, Shown};
use crate::client::Handle;

/// What a client has not sent yet.
#[derive(Debug)]
pub struct Unsent(pub(super) Arc<Handle>);

/// What may become a run.
pub trait MayRun {
    #[doc(hidden)]
    fn unsent(&self) -> Option<Unsent>;
}

impl<S: Opens> MayRun for Option<S> {
    fn unsent(&self) -> Option<Unsent> {
        self.as_ref().map(S::unsent)
    }
}

impl<S: Opens> MayRun for Shown<S> {
    fn unsent(&self) -> Option<Unsent> {
        match self {
            Self::Run(run) => Some(run.unsent()),
            Self::Idle(_) => None,
        }
    }
}

/// Runs the function. A panic ends the process when it leaves the function; so what is recorded is
/// sent before that.
pub fn foreign<R: MayRun, V>(run: R, body: impl FnOnce(R) -> V) -> V {
    /// A process that is about to end must not be held up for long.
    const LIMIT: Duration = Duration::from_secs(2);

    let Some(Unsent(client)) = run.unsent() else {
        return body(run);
    };
    catch_unwind(AssertUnwindSafe(|| body(run))).unwrap_or_else(|payload| {
        client.wait_for_pending(LIMIT);
        resume_unwind(payload)
    })
}
