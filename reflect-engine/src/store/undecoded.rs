use reflect_types::{ArchivedTrace, Trace};
use serde::de::DeserializeOwned;
use serde::ser::{Error as _, SerializeMap as _};
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// A trace whose long fields are still JSON text.
///
/// It serializes as the record that it decodes to. Decoded messages take many times the memory of
/// their text, so a server passes the text on.
#[derive(Clone, Debug)]
pub struct Undecoded<T> {
    record: T,
    long: LongFields,
}

/// The JSON texts of a trace's long fields.
#[derive(Clone, Debug)]
pub struct LongFields {
    /// The trajectory, an array of messages.
    pub trajectory: Box<RawValue>,
    /// The metadata, an object.
    pub metadata: Box<RawValue>,
    /// The memories the agent was given, an array of ids.
    pub retrieved_memory_ids: Box<RawValue>,
    /// Those that do not exist, an array of ids.
    pub ignored_memory_ids: Box<RawValue>,
}

/// A record with the fields of a trace.
pub trait TraceRecord: Serialize {
    /// Its trace.
    fn trace_mut(&mut self) -> &mut Trace;
}

impl<T: TraceRecord> Undecoded<T> {
    /// A record with empty long fields, and these fields.
    pub fn new(record: T, long: LongFields) -> Self {
        Self { record, long }
    }

    /// The record, with empty long fields.
    pub fn record(&self) -> &T {
        &self.record
    }

    /// Decodes the long fields.
    pub fn decode(self) -> Result<T> {
        let Self { mut record, long } = self;
        let trace = record.trace_mut();
        trace.trajectory = decode(&long.trajectory)?;
        trace.metadata = decode(&long.metadata)?;
        trace.retrieved_memory_ids = decode(&long.retrieved_memory_ids)?;
        trace.ignored_memory_ids = decode(&long.ignored_memory_ids)?;
        Ok(record)
    }

    /// Changes the fields that are not long.
    pub(crate) fn map<U: TraceRecord>(self, change: impl FnOnce(T) -> U) -> Undecoded<U> {
        Undecoded::new(change(self.record), self.long)
    }
}

fn decode<T: DeserializeOwned>(json: &RawValue) -> Result<T> {
    serde_json::from_str(json.get())
        .map_err(|error| Error::internal("a stored trace cannot be decoded", error))
}

impl LongFields {
    /// The text of a field by its name.
    fn get(&self, name: &str) -> Option<&RawValue> {
        match name {
            "trajectory" => Some(&self.trajectory),
            "metadata" => Some(&self.metadata),
            "retrieved_memory_ids" => Some(&self.retrieved_memory_ids),
            "ignored_memory_ids" => Some(&self.ignored_memory_ids),
            _ => None,
        }
    }
}

impl<T: TraceRecord> Serialize for Undecoded<T> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let Value::Object(fields) = serde_json::to_value(&self.record).map_err(S::Error::custom)?
        else {
            return Err(S::Error::custom("a trace is an object"));
        };
        let mut map = to.serialize_map(Some(fields.len()))?;
        for (name, value) in &fields {
            match self.long.get(name) {
                Some(text) => map.serialize_entry(name, text)?,
                None => map.serialize_entry(name, value)?,
            }
        }
        map.end()
    }
}

impl TraceRecord for Trace {
    fn trace_mut(&mut self) -> &mut Trace {
        self
    }
}

impl TraceRecord for ArchivedTrace {
    fn trace_mut(&mut self) -> &mut Trace {
        &mut self.trace
    }
}
