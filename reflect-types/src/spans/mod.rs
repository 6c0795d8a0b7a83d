//! Spans of OpenTelemetry as runs: one run per invocation of an agent.
//!
//! [`runs`] reads the spans of one trace by the GenAI semantic conventions of OpenTelemetry, by OpenInference
//! and by OpenLLMetry (Traceloop). It is pure; receiving and storing spans is the work of others.
//!
//! A run is the subtree of a span with the attribute `reflect.task`, else of the outermost span of an agent,
//! a workflow or a chain, else of the whole trace. A subtree without a call of a model or a tool is no run.
//!
//! | attribute | meaning |
//! |---|---|
//! | `reflect.task` | the task, where it is not the last message of the user |
//! | `reflect.memory_ids` | the memories that the agent was given: a list, or a text with commas |
//! | `reflect.metadata.NAME` | metadata of the run |
//! | `reflect.run_id` | an SDK of Reflect records the run itself: its subtree is left out |

mod attributes;
mod conversation;
mod kept;
mod kind;
mod messages;
mod run;
#[cfg(test)]
mod tests;
mod tools;
mod tree;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::run::{Runs, runs};

/// The attributes of a span.
pub type Attributes = Map<String, Value>;

/// A span of OpenTelemetry.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Span {
    /// The trace, in lowercase hexadecimal digits.
    pub trace_id: String,
    /// The span, in lowercase hexadecimal digits.
    pub span_id: String,
    /// The parent, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_span_id: Option<String>,
    /// The name.
    pub name: String,
    /// Nanoseconds since 1970.
    pub start: u64,
    /// Nanoseconds since 1970.
    pub end: u64,
    /// The attributes.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub attributes: Attributes,
    /// The events, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<SpanEvent>,
    /// Why it failed, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// An event of a span, or a log record that names the span.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpanEvent {
    /// The name.
    pub name: String,
    /// Nanoseconds since 1970.
    pub time: u64,
    /// The attributes.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub attributes: Attributes,
    /// The body of a log record.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub body: Value,
}

/// What arrives of a trace: a span, or an event of a span.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanRecord {
    /// A span.
    Span(Span),
    /// An event that came by itself, as a log record.
    Event {
        /// The trace of the span.
        trace_id: String,
        /// The span.
        span_id: String,
        /// The event.
        event: SpanEvent,
    },
}

impl SpanRecord {
    /// The trace it belongs to.
    pub fn trace_id(&self) -> &str {
        match self {
            Self::Span(span) => &span.trace_id,
            Self::Event { trace_id, .. } => trace_id,
        }
    }

    /// Removes what no run is made of.
    pub fn keep_the_agents(&mut self) {
        match self {
            Self::Span(span) => kept::reduce(span),
            Self::Event { event, .. } => kept::reduce_event(event),
        }
    }
}

impl SpanEvent {
    /// Whether a run is made of events with this name.
    pub fn is_agents(&self) -> bool {
        self.name.starts_with("gen_ai.")
    }
}
