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
mod chat_model;
mod clock;
mod config;
mod erased;
mod error;
mod evaluation;
mod hooks;
mod id;
mod into_result;
#[cfg(feature = "judge")]
mod judge;
mod llm;
mod outcome;
mod prompt;
mod recording;
mod reflexion;
mod runner;
mod self_reflection;
mod task;
mod tool;
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
pub use crate::chat_model::{Chat, ChatModel, SharedChatModel};
pub use crate::config::{DEFAULT_MAX_TRIALS, DEFAULT_MEMORY_SIZE, OnReflectionError, TrialContext};
pub use crate::erased::BoxError;
pub use crate::error::{ConfigError, HookPoint, ReflexionError, Stage};
pub use crate::evaluation::{Evaluation, Evaluator, SharedEvaluator};
pub use crate::hooks::{Event, EventKind, HookResult, Hooks};
pub use crate::id::{RunId, TrialId};
pub use crate::into_result::IntoResult;
pub use crate::llm::{Llm, LlmEvaluator, LlmReflection, SharedLlm};
pub use crate::outcome::{Outcome, PersistError, Status, Trial};
pub use crate::reflexion::{Reflexion, Run};
pub use crate::self_reflection::{
    FailedTrial, FeedbackReflection, MemoryEntry, SelfReflection, SharedSelfReflection,
};
pub use crate::task::Task;
pub use crate::tool::{Tool, ToolFn, ToolSpec, tool_fn};
pub use crate::tool_loop::ToolLoop;
pub use crate::trajectory::Trajectory;
