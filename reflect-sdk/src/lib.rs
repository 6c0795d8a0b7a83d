#![doc = include_str!("../README.md")]
// To be called at exit is all that anything here needs it for.
#![cfg_attr(not(feature = "flush-at-exit"), forbid(unsafe_code))]

#[cfg(feature = "macros")]
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod client;
mod error;
pub mod reflection;
pub mod reflexion;
mod trace;
pub mod transport;
mod worker;

/// What calls are made of; you rarely need to name these.
pub mod calls {
    #[cfg(feature = "macros")]
    pub use crate::client::WithClient;
    pub use crate::client::{
        Async, Augment, Blocking, BootstrapProject, Call, CallContext, ChangeReview, CreateKey,
        DeleteProject, DeleteRecords, GetHealth, GetRecord, GetSkill, ListKeys, ListRecords,
        Operation, Patience, Query, Record, RecordAndWait, RetryRecord, ReviewRecorded, RevokeKey,
        StoreMemory, WaitForRecord, WithdrawReview, WriteSkill,
    };
    pub use crate::trace::{BlockingLimit, InScope, StrictTrace};
}

/// The engine behind an embedded client, for settings of your own.
#[cfg(feature = "embedded")]
pub use reflect_engine as engine;
#[cfg(feature = "macros")]
#[doc = include_str!("attribute.md")]
pub use reflect_macros::reflect_trace;
/// The client of language models that a [`Judge`](reflexion::Judge) asks.
#[cfg(feature = "judge")]
pub use reflect_models as models;
pub use reflect_types::{
    ApiKey, AuthoredReflection, Bootstrap, Bootstrapped, Content, CreatedApiKey, DeletedProject,
    DeletedTraces, Environment, ErrorCode, FunctionCall, Health, IngestStatus, InvalidField,
    JudgeNote, KeyId, KeyStatus, Memory, MemoryId, Message, Metadata, ProjectId, Review,
    ReviewMode, ReviewRecord, ReviewStatus, Role, Scope, Skill, ToolCall, Trace, TraceId,
    TraceReceipt, Trajectory, Verdict,
};

pub use crate::client::{AugmentedTask, BlockingClient, ClientBuilder, FlushGuard, ReflectClient};
pub use crate::error::{ApiError, BoxError, Error, Result};
pub use crate::trace::{
    OnCancel, TraceBuilder, TraceContext, TraceGuard, TraceHandle, TraceOutput, TraceRecord,
    TraceResult, TraceReturn,
};
pub use crate::transport::Transport;
pub use crate::worker::outbox::Overflow;
pub use crate::worker::retry::RetryPolicy;
pub use crate::worker::stats::{FlushReport, Stats};
