#![doc = include_str!("../README.md")]
//!
//! [`spool`]: ClientBuilder::spool
//! [`client.trace(task)`]: ReflectClient::trace
//! [`set_output`]: TraceGuard::set_output
//! [`fail_on_err`]: TraceGuard::fail_on_err
//! [`run`]: TraceBuilder::run
//! [`run_async`]: TraceBuilder::run_async
//! [`start_blocking`]: TraceBuilder::start_blocking
//! [`finish_blocking`]: TraceGuard::finish_blocking
//! [`client.blocking()`]: ReflectClient::blocking
//! [`.call()`]: calls::Call::call
//! [`client.admin()`]: ReflectClient::admin
//! [`client.request(…)`]: ReflectClient::request
// The exit hook is the only unsafe code.
#![cfg_attr(not(feature = "flush-at-exit"), forbid(unsafe_code))]

#[cfg(feature = "macros")]
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod client;
mod core;
mod error;
mod outbox;
mod spool;
pub mod testing;
mod trace;
pub mod transport;

/// Keys, projects, export and import.
pub mod admin {
    pub use crate::client::{Admin, BootstrapProject, bootstrap};
}

/// The types of calls, which rarely need to be named.
pub mod calls {
    #[cfg(feature = "macros")]
    pub use crate::client::WithClient;
    pub use crate::client::{
        Action, Async, AugmentWithMemories, Blocking, Call, CallContext, CreateMemory,
        CreateTraceAndWait, ReviewRun, WaitForTrace,
    };
    pub use crate::trace::{InScope, LearningLimit, StrictTrace};
}

/// Everything that travels: the requests and replies of the API, and their parts.
pub mod types {
    pub use reflect_types::*;
}

/// The embedded engine, for settings of your own.
#[cfg(feature = "embedded")]
pub use reflect_engine as engine;
#[cfg(feature = "macros")]
#[doc = include_str!("attribute.md")]
pub use reflect_macros::reflect_trace;
pub use reflect_types::{
    Content, ErrorCode, FunctionCall, IngestStatus, Memory, MemoryId, Message, Metadata, ProjectId,
    Ranking, Review, ReviewStatus, Role, ToolCall, Trace, TraceId, TraceReceipt, Trajectory,
    Verdict,
};

pub use crate::client::{
    AugmentedTask, BlockingClient, ClientBuilder, FlushGuard, PromptStyle, QueryOptions,
    ReflectClient,
};
pub use crate::core::{DeliveryStats, Overflow, RetryPolicy};
pub use crate::error::{ApiError, BoxError, Error, Result};
#[cfg(feature = "tracing")]
pub use crate::trace::ReflectLayer;
pub use crate::trace::{
    OnCancel, TraceBuilder, TraceContext, TraceGuard, TraceHandle, TraceOutput, TraceRecord,
    TraceResult, TraceReturn,
};
pub use crate::transport::Transport;
