#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod error;
mod id;
mod judge;
mod key;
mod memory;
mod message;
#[cfg(feature = "openapi")]
mod openapi;
pub mod path;
mod project;
mod review;
mod skill;
mod trace;
mod trajectory;
mod validate;
mod wire_enum;

pub use error::{ErrorBody, ErrorCode};
pub use id::{KeyId, MemoryId, ProjectId, TraceId};
pub use judge::{JudgeNote, feedback_without_note};
pub use key::{ApiKey, CreateApiKey, CreatedApiKey, Environment, KeyStatus, Scope};
pub use memory::{Memory, QueryMemories};
pub use message::{Content, FunctionCall, Message, Role, ToolCall};
pub use project::{Bootstrap, Bootstrapped, DeletedProject, Health};
pub use review::{AuthoredReflection, Review, ReviewMode, ReviewRecord, UnknownVerdict, Verdict};
pub use skill::{CreateSkill, Skill};
pub use trace::{
    CreateTrace, DeleteTraces, DeletedTraces, IngestStatus, ListTraces, ReviewStatus, Trace,
    TraceReceipt,
};
pub use trajectory::Trajectory;
pub use validate::{InvalidField, Validate};

/// A JSON object: the metadata of a trace, or the filter of a query.
pub type Metadata = serde_json::Map<String, serde_json::Value>;

/// The header that carries one UUID per trace, so that a retry never stores it twice.
pub const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The header that carries the token of [`Bootstrap`].
pub const BOOTSTRAP_TOKEN: &str = "X-Bootstrap-Token";
