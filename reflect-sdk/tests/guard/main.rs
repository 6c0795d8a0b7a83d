//! Runs that record themselves: the guard, the closures, and the worker behind them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod blocking;
mod children;
mod closures;
mod disk;
mod endings;
mod options;
mod places;
mod processes;
mod queue;
mod script;
mod submitting;
mod visibility;

use std::time::Duration;

/// Longer than anything here takes, shorter than the patience of whoever runs the tests.
const LIMIT: Duration = Duration::from_secs(20);

/// How much later than it should a thread may get its turn, on a machine with much to do.
const SOON: Duration = Duration::from_secs(1);
