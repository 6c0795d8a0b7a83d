#![cfg_attr(feature = "memory", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "memory"),
    doc = "The Reflexion loop: an agent that tries, is evaluated, reflects, and tries again."
)]
#![forbid(unsafe_code)]

mod actor;
pub mod analysis;
mod attempt;
#[cfg(feature = "memory")]
mod bank;
mod builder;
mod clock;
mod config;
mod erased;
mod error;
mod evaluation;
mod hooks;
#[cfg(feature = "judge")]
mod judge;
mod llm;
mod outcome;
mod prompt;
mod recording;
mod reflexion;
mod runner;
mod self_reflection;
mod tool_loop;
mod trajectory;
mod verdict;

/// The client of language models that a [`Judge`] asks.
#[cfg(feature = "judge")]
pub use reflect_models as models;
#[cfg(feature = "judge")]
pub use reflect_models::Judge;
pub use reflect_types::{Memory, Message, ToolCall};

pub use crate::actor::{Actor, LlmActor, SharedActor};
pub use crate::attempt::{Attempt, Attempted};
#[cfg(feature = "memory")]
pub use crate::bank::{Persist, TracedOutcome};
pub use crate::builder::ReflexionBuilder;
pub use crate::config::{DEFAULT_MAX_TRIALS, DEFAULT_MEMORY_SIZE, OnReflectionError, TrialContext};
pub use crate::erased::{BoxError, IntoResult};
pub use crate::error::{ConfigError, HookPoint, ReflexionError, Stage};
pub use crate::evaluation::{Evaluation, Evaluator, SharedEvaluator};
pub use crate::hooks::{Event, EventKind, HookResult, Hooks, RunId, TrialId};
pub use crate::llm::{Llm, LlmEvaluator, LlmReflection, SharedLlm};
pub use crate::outcome::{Outcome, PersistError, Status, Trial};
pub use crate::reflexion::{Reflexion, Run};
pub use crate::self_reflection::{
    FailedTrial, FeedbackReflection, MemoryEntry, SelfReflection, SharedSelfReflection,
};
pub use crate::tool_loop::{
    Chat, ChatModel, SharedChatModel, Tool, ToolFn, ToolLoop, ToolSpec, tool_fn,
};
pub use crate::trajectory::{Task, Trajectory};
