use reqwest::header::HeaderMap;

use crate::redact::Redactor;

/// A response of any status, read whole.
pub(crate) struct Received {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) redactor: Redactor,
}

impl Received {
    /// A header, where it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The beginning of the body on one line, masked.
    pub(crate) fn excerpt(&self) -> String {
        self.redactor.excerpt(&self.body)
    }
}
