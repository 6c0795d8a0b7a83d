use std::fmt;

use reqwest::Response;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};
use crate::received::Received;
use crate::redact::Redactor;
use crate::refusal::Refusal;

/// A reply with a status of 2xx, read whole.
pub struct Reply(Received);

impl Reply {
    /// Reads a response of at most `limit` bytes; a status other than 2xx is an error.
    pub(crate) async fn read(response: Response, limit: usize, redactor: Redactor) -> Result<Self> {
        let success = response.status().is_success();
        let received = Received {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: bounded_body(response, limit).await?,
            redactor,
        };
        if success {
            Ok(Self(received))
        } else {
            Err(Error::Refused(Box::new(Refusal(received))))
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// A header's value, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.header(name)
    }

    /// The body.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        self.decode(|body| serde_json::from_slice(body))
    }

    /// The body as `read` understands it.
    pub fn decode<T>(&self, read: impl FnOnce(&[u8]) -> serde_json::Result<T>) -> Result<T> {
        read(&self.0.body).map_err(|error| Error::NotJson {
            status: self.0.status,
            problem: self.0.redactor.text(&error.to_string()),
            excerpt: self.0.excerpt(),
        })
    }

    /// The beginning of the body on one line, masked, for messages.
    pub fn excerpt(&self) -> String {
        self.0.excerpt()
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("status", &self.0.status)
            .field("bytes", &self.0.body.len())
            .finish_non_exhaustive()
    }
}

async fn bounded_body(mut response: Response, limit: usize) -> Result<Vec<u8>> {
    let too_long = Error::TooLong {
        status: response.status().as_u16(),
        limit,
    };
    let announced = response.content_length().unwrap_or_default();
    if announced > limit as u64 {
        return Err(too_long);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > limit - body.len() {
            return Err(too_long);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}
