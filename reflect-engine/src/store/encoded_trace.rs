//! A trace as it is stored: its lists as JSON.

use reflect_types::InvalidField;
use serde::Serialize;

use super::NewTrace;
use crate::error::{Error, Result};

/// A trace with its JSON columns encoded.
pub(super) struct EncodedTrace {
    pub(super) trace: NewTrace,
    pub(super) trajectory: String,
    pub(super) metadata: String,
    pub(super) retrieved: String,
}

impl EncodedTrace {
    /// Fails if a field is nested too deeply to be read back.
    pub(super) fn new(trace: NewTrace) -> Result<Self> {
        Ok(Self {
            trajectory: readable("trajectory", encode(&trace.trajectory)?)?,
            metadata: readable("metadata", encode(&trace.metadata)?)?,
            retrieved: encode(&trace.retrieved_memory_ids)?,
            trace,
        })
    }
}

fn encode(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value)
        .map_err(|error| Error::internal("a trace cannot be encoded", error))
}

/// Refuses JSON that is nested too deeply to be read back.
fn readable(field: &'static str, json: String) -> Result<String> {
    /// The limit of `serde_json` is 128.
    const DEEPEST: usize = 120;

    if is_deeper(&json, DEEPEST) {
        let problem = format!("is nested more than {DEEPEST} levels deep: flatten it");
        return Err(Error::Invalid(InvalidField::new(field, problem)));
    }
    Ok(json)
}

/// Whether a JSON text is nested deeper than `limit`.
fn is_deeper(json: &str, limit: usize) -> bool {
    // Most texts have fewer brackets than the limit, and counting them is fast.
    let opens = |byte: &u8| matches!(byte, b'[' | b'{');
    json.bytes().filter(opens).count() > limit && depth(json) > limit
}

/// The nesting depth of a JSON text.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_string,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}
