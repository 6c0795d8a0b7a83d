//! The memory bank of a loop: recall and storage through a Reflect client.

mod record;
mod session;
mod settings;
mod traced;

pub use self::settings::Persist;
pub(crate) use self::settings::Settings;
pub use self::traced::TracedOutcome;
