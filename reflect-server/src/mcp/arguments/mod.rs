//! The arguments of the tools, as requests. An error is the text that the agent reads.

mod lesson;
mod query;
mod review;
mod run;

pub(super) use self::lesson::CreateMemory;
pub(super) use self::query::RetrieveMemories;
pub(super) use self::review::ReviewRun;
pub(super) use self::run::RecordRun;
