//! Values of OpenTelemetry as JSON.

use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use reflect_types::spans::Attributes;
use serde_json::Value;

use crate::hex::hex;

/// Attributes; of several with one name, the last.
pub(super) fn attributes(pairs: Vec<KeyValue>) -> Attributes {
    let pairs = pairs.into_iter();
    pairs.map(|pair| (pair.key, value(pair.value))).collect()
}

/// As deep as the decoders allow, and with that far from the limit of JSON parsers.
pub(super) fn value(any: Option<AnyValue>) -> Value {
    match any.and_then(|any| any.value) {
        None | Some(Any::StringValueStrindex(_)) => Value::Null,
        Some(Any::StringValue(text)) => text.into(),
        Some(Any::BoolValue(truth)) => truth.into(),
        Some(Any::IntValue(number)) => number.into(),
        Some(Any::DoubleValue(number)) => number.into(),
        Some(Any::ArrayValue(list)) => {
            let items = list.values.into_iter();
            items.map(|item| value(Some(item))).collect()
        }
        Some(Any::KvlistValue(list)) => Value::Object(attributes(list.values)),
        Some(Any::BytesValue(bytes)) => String::from_utf8_lossy(&bytes).into(),
    }
}

/// An id in hexadecimal digits; `None` if it has another length or is zero.
pub(super) fn id(bytes: &[u8], length: usize) -> Option<String> {
    if bytes.len() != length || bytes.iter().all(|byte| *byte == 0) {
        return None;
    }
    Some(hex(bytes))
}
