use std::fmt;
use std::time::{Duration, SystemTime};

use reqwest::Response;
use reqwest::header::{HeaderMap, LOCATION};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::redact::Redactor;
use crate::retry_after::retry_after;

/// A reply with a status of 2xx, read whole.
pub struct Reply {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    redactor: Redactor,
}

impl Reply {
    /// Reads a response of at most `limit` bytes; a status other than 2xx is an error.
    pub(crate) async fn read(response: Response, limit: usize, redactor: Redactor) -> Result<Self> {
        let success = response.status().is_success();
        let reply = Self {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: bounded_body(response, limit).await?,
            redactor,
        };
        if success {
            Ok(reply)
        } else {
            Err(Error::Refused(Box::new(Refusal(reply))))
        }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// A header as it came, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        self.decode(|body| serde_json::from_slice(body))
    }

    /// The body as `read` understands it.
    pub fn decode<T>(&self, read: impl FnOnce(&[u8]) -> serde_json::Result<T>) -> Result<T> {
        read(&self.body).map_err(|error| Error::NotJson {
            status: self.status,
            problem: self.redactor.text(&error.to_string()),
            excerpt: self.excerpt(),
        })
    }

    /// The beginning of the body on one line, masked, for messages.
    pub fn excerpt(&self) -> String {
        self.redactor.excerpt(&self.body)
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reply")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A reply with a status other than 2xx. All texts are masked.
pub struct Refusal(Reply);

impl Refusal {
    /// The HTTP status.
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// The body, where it is JSON.
    pub fn json(&self) -> Option<Value> {
        let body = serde_json::from_slice(&self.0.body).ok()?;
        Some(self.0.redactor.value(body))
    }

    /// The beginning of the body on one line.
    pub fn excerpt(&self) -> String {
        self.0.excerpt()
    }

    /// A header, where it is text.
    pub fn header(&self, name: &str) -> Option<String> {
        Some(self.0.redactor.text(self.0.header(name)?))
    }

    /// The wait that the server asks for before another request.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(&self.0.headers, SystemTime::now())
    }

    /// The target of a redirect, without its query.
    pub fn location(&self) -> Option<String> {
        let location = self.0.header(LOCATION.as_str())?;
        Some(self.0.redactor.address(location))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "refused with status {}: {}",
            self.status(),
            self.excerpt()
        )
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refusal")
            .field("status", &self.status())
            .field("excerpt", &self.excerpt())
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
