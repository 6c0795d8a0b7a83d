//! The two encodings of OTLP over HTTP.

use axum::body::Body;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use prost::Message;
use serde::Serialize;

use super::signal::Signal;
use super::size;
use crate::error::ApiError;

/// The encoding of a request and its reply.
#[derive(Clone, Copy, Debug)]
pub(super) enum Encoding {
    Protobuf,
    Json,
}

impl Encoding {
    /// That of a request; `None` for any other.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let named = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        let named = named.split(';').next().unwrap_or_default().trim();
        match named.to_ascii_lowercase().as_str() {
            "application/x-protobuf" | "application/protobuf" => Some(Self::Protobuf),
            "application/json" => Some(Self::Json),
            _ => None,
        }
    }

    fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        })
    }

    /// How large a body is in memory.
    pub(super) fn size<S: Signal>(self, body: &[u8]) -> usize {
        match self {
            Self::Protobuf => size::of_protobuf(body, S::SHAPE),
            Self::Json => size::of_json(body),
        }
    }

    /// Decodes a body.
    pub(super) fn decode<S: Signal>(self, body: &[u8]) -> Result<S, ApiError> {
        match self {
            Self::Protobuf => S::decode(body).map_err(|error| {
                ApiError::malformed(format!(
                    "the body is not an OTLP request in protobuf: {}",
                    shortened(&error.to_string())
                ))
            }),
            Self::Json => serde_json::from_slice(body).map_err(|error| {
                ApiError::malformed(format!("the body is not an OTLP request in JSON: {error}"))
            }),
        }
    }

    /// A reply to a request that was carried out.
    pub(super) fn reply(self, message: &(impl Message + Serialize)) -> Response {
        let mut response = Response::new(self.encode(message));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.content_type());
        response
    }

    /// An error, as a `google.rpc.Status`, with the status and the headers of the reply.
    pub(super) fn refusal(self, message: String, reply: Response) -> Response {
        let (mut head, _) = reply.into_parts();
        head.headers.remove(CONTENT_LENGTH);
        head.headers.insert(CONTENT_TYPE, self.content_type());
        let code = grpc_code(head.status);
        let body = self.encode(&Status { code, message });
        Response::from_parts(head, body)
    }

    fn encode(self, message: &(impl Message + Serialize)) -> Body {
        Body::from(match self {
            Self::Protobuf => message.encode_to_vec(),
            Self::Json => json(message),
        })
    }
}

/// Both ends of a long text: the decoder names each message that it was in.
fn shortened(text: &str) -> String {
    const END: usize = 100;

    let count = text.chars().count();
    if count <= 2 * END {
        return text.to_owned();
    }
    let start = text.chars().take(END);
    let end = text.chars().skip(count - END);
    start.chain(['…']).chain(end).collect()
}

/// JSON without the fields that are not set.
fn json(message: &impl Serialize) -> Vec<u8> {
    // The types of the protocol have no value that JSON does not have.
    let mut value = serde_json::to_value(message).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, field| !field.is_null());
    }
    value.to_string().into_bytes()
}

/// `google.rpc.Status` without details.
#[derive(Clone, PartialEq, Message, Serialize)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

/// The `google.rpc.Code` of a status.
fn grpc_code(status: StatusCode) -> i32 {
    match status.as_u16() {
        401 => 16,
        403 => 7,
        404 => 5,
        405 => 12,
        413 | 429 => 8,
        503 => 14,
        504 => 4,
        400..500 => 3,
        _ => 13,
    }
}
