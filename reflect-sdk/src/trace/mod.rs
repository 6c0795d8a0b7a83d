//! Runs that record themselves: a guard for a scope, a closure for one that returns.

mod ambient;
#[cfg(feature = "macros")]
mod arguments;
mod builder;
mod closure;
mod context;
#[cfg(feature = "macros")]
mod foreign;
#[cfg(feature = "macros")]
mod future;
mod guard;
mod handle;
mod open;
mod output;
mod panics;
#[cfg(feature = "macros")]
mod parameter;
#[cfg(feature = "panic-hook")]
mod rescue;
mod result;
mod returns;
#[cfg(feature = "macros")]
mod traced;

pub use self::ambient::InScope;
pub use self::builder::{OnCancel, StrictTrace, TraceBuilder, Wait};
pub use self::context::TraceContext;
pub use self::guard::TraceGuard;
pub use self::handle::TraceHandle;
pub use self::output::TraceOutput;
pub use self::result::TraceResult;
pub use self::returns::{Outcome, TraceReturn};
#[cfg(feature = "macros")]
pub use self::{
    arguments::{
        OptionalText, Pairs, Shows, TaskText, Text, metadata, metadata_filter, model,
        reference_context, task, text,
    },
    foreign::{MayRun, Unsent, foreign},
    future::{
        Begin, Traced, UntilLearned, begin, begin_shown, begin_shown_strictly, begin_strictly,
        traced, traced_whole,
    },
    parameter::{ContextParameter, context},
    traced::{
        Gives, Opens, Refuse, Shown, Start, Started, described, is_recorded, run, run_shown,
        run_whole, run_whole_shown, start, start_shown_strictly, start_strictly, unseen_client,
    },
};
