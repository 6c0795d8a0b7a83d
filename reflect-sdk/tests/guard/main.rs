//! Runs that record themselves: the guard, the closures, and the worker behind them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod closures;
mod endings;
mod script;
