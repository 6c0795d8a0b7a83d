//! The memory bank of a loop: recall and storage through a Reflect client.

mod record;
mod session;
mod settings;
mod traced;

pub(crate) use self::settings::Bank;
pub use self::settings::Persist;
pub use self::traced::TracedOutcome;
