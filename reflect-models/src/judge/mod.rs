//! Judging runs: what a judge reads, what it answers, and the model that does it.

#[cfg(feature = "client")]
mod model;
mod opinion;
mod run;

#[cfg(feature = "client")]
pub use model::Judge;
pub use opinion::Opinion;
pub use run::JudgeRun;
