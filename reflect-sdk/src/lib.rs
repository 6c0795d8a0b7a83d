//! Let an AI agent learn from its own runs.

pub mod reflection;
pub mod reflexion;

pub use reflect_types::{Content, Message, Role, ToolCall};
