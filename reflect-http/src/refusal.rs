use std::fmt;
use std::time::{Duration, SystemTime};

use reqwest::header::LOCATION;
use serde_json::Value;

use crate::received::Received;
use crate::retry_after::retry_after;

/// A reply with a status other than 2xx. All texts are masked.
pub struct Refusal(pub(crate) Received);

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
