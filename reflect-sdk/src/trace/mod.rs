//! Runs that record themselves: a guard for a scope, a closure for one that returns.

mod ambient;
mod builder;
mod closure;
mod context;
mod guard;
mod handle;
mod open;
mod output;
mod panics;
mod result;
mod returns;

pub use self::ambient::InScope;
pub use self::builder::{OnCancel, StrictTrace, TraceBuilder, Wait};
pub use self::context::TraceContext;
pub use self::guard::TraceGuard;
pub use self::handle::TraceHandle;
pub use self::output::TraceOutput;
pub use self::result::TraceResult;
pub use self::returns::{Outcome, TraceReturn};
