//! How large a request is in memory, before it is decoded.
//!
//! An empty span has two bytes in protobuf and hundreds in memory, so a limit on the body is none on the
//! memory.

use crate::decoded_budget::DecodedBudget;

/// Where counting ends.
const MAX: usize = DecodedBudget::REQUEST;

/// The messages of OTLP that can be repeated.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Traces,
    ResourceSpans,
    ScopeSpans,
    Span,
    Event,
    Link,
    Logs,
    ResourceLogs,
    ScopeLogs,
    LogRecord,
    Resource,
    Scope,
    KeyValue,
    AnyValue,
    Array,
    KeyValues,
}

impl Shape {
    /// The message in a field.
    fn field(self, number: u64) -> Option<Self> {
        Some(match (self, number) {
            (Self::Traces, 1) => Self::ResourceSpans,
            (Self::Logs, 1) => Self::ResourceLogs,
            (Self::ResourceSpans | Self::ResourceLogs, 1) => Self::Resource,
            (Self::ResourceSpans, 2) => Self::ScopeSpans,
            (Self::ResourceLogs, 2) => Self::ScopeLogs,
            (Self::ScopeSpans | Self::ScopeLogs, 1) => Self::Scope,
            (Self::ScopeSpans, 2) => Self::Span,
            (Self::ScopeLogs, 2) => Self::LogRecord,
            (Self::Span, 11) => Self::Event,
            (Self::Span, 13) => Self::Link,
            (Self::Resource | Self::KeyValues, 1)
            | (Self::Scope | Self::Event, 3)
            | (Self::Span, 9)
            | (Self::Link, 4)
            | (Self::LogRecord, 6) => Self::KeyValue,
            (Self::KeyValue, 2) | (Self::LogRecord, 5) | (Self::Array, 1) => Self::AnyValue,
            (Self::AnyValue, 5) => Self::Array,
            (Self::AnyValue, 6) => Self::KeyValues,
            _ => return None,
        })
    }

    /// The bytes of an empty one in memory, rounded up.
    fn bytes(self) -> usize {
        match self {
            Self::Span | Self::LogRecord | Self::ResourceSpans | Self::ResourceLogs => 400,
            Self::ScopeSpans | Self::ScopeLogs | Self::Link => 200,
            _ => 100,
        }
    }
}

/// The size of a request in protobuf. What is malformed is left to the decoder.
pub(super) fn of_protobuf(body: &[u8], shape: Shape) -> usize {
    let mut size = body.len();
    // Explicit, because a message is as deep as its sender likes.
    let mut open = vec![(body, shape)];
    while let Some((mut rest, shape)) = open.pop() {
        while let Some((number, content)) = next_field(&mut rest) {
            let Some(content) = content else {
                continue;
            };
            let Some(inner) = shape.field(number) else {
                // A repeated text, or a message that is not known.
                size += 32;
                continue;
            };
            size += inner.bytes();
            if size > MAX {
                return size;
            }
            open.push((content, inner));
        }
    }
    size
}

/// The number of the next field, with its content if it has a length. `None` at the end.
fn next_field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Option<&'a [u8]>)> {
    let tag = varint(rest)?;
    let skipped = match tag & 7 {
        0 => return varint(rest).map(|_| (tag >> 3, None)),
        1 => 8,
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            let (content, after) = rest.split_at_checked(length)?;
            *rest = after;
            return Some((tag >> 3, Some(content)));
        }
        5 => 4,
        _ => return None,
    };
    *rest = rest.get(skipped..)?;
    Some((tag >> 3, None))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..10 {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f).checked_shl(7 * place)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The size of a request in JSON: every object may be a span.
pub(super) fn of_json(body: &[u8]) -> usize {
    let (mut objects, mut in_text, mut is_escaped) = (0_usize, false, false);
    for byte in body {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b',' if !in_text => objects += 1,
            _ => {}
        }
    }
    // A comma separates fields as well as objects.
    body.len() + objects * Shape::Span.bytes() / 4
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with a length.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![number << 3 | 2];
        let mut length = content.len();
        while length >= 0x80 {
            bytes.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
            length >>= 7;
        }
        bytes.push(u8::try_from(length).unwrap());
        bytes.extend(content);
        bytes
    }

    #[test]
    fn empty_spans_are_as_large_as_in_memory() {
        let spans = field(2, b"").repeat(1_000);
        let request = field(1, &field(2, &spans));
        let size = of_protobuf(&request, Shape::Traces);
        assert!((400_000..500_000).contains(&size), "{size}");
        let many = field(1, &field(2, &field(2, b"").repeat(1_000_000)));
        assert!(of_protobuf(&many, Shape::Traces) > MAX);
        let text = "x".repeat(1_000_000);
        let long = field(1, &field(2, &field(2, &field(5, text.as_bytes()))));
        assert!(of_protobuf(&long, Shape::Traces) < 1_100_000);
    }

    #[test]
    fn malformed_bytes_end_the_count() {
        for bytes in [
            &b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"[..],
            b"\x0a\xff\x01",
            b"\x0b",
            b"\x09\x01",
        ] {
            assert_eq!(of_protobuf(bytes, Shape::Traces), bytes.len());
        }
    }

    #[test]
    fn objects_in_texts_do_not_count() {
        let text = br#"{"a": "{{{\"{,,,,"}"#;
        assert_eq!(of_json(text), text.len() + 100);
        assert!(of_json(&b"[{},".repeat(1_000_000)) > MAX);
    }
}
