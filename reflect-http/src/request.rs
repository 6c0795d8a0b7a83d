use std::fmt;

use reqwest::RequestBuilder;
use reqwest::header::{CONTENT_TYPE, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::header::{self, InvalidHeader};
use crate::redact::Redactor;
use crate::reply::Reply;

/// A request that is not sent yet.
#[must_use]
pub struct Request {
    pub(crate) builder: RequestBuilder,
    pub(crate) redactor: Redactor,
    pub(crate) max_reply_bytes: usize,
}

impl Request {
    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, InvalidHeader> {
        self.builder = self.builder.header(name, header::plain(value)?);
        Ok(self)
    }

    /// Adds a header whose value is masked in every text.
    pub fn secret_header(
        mut self,
        name: &str,
        secret: &SecretString,
    ) -> Result<Self, InvalidHeader> {
        let value = header::secret(secret.expose_secret())?;
        self.builder = self.builder.header(name, value);
        self.redactor = self.redactor.with(secret);
        Ok(self)
    }

    /// Sets the body.
    pub fn json(mut self, body: &(impl Serialize + ?Sized)) -> Self {
        self.builder = self.builder.json(body);
        self
    }

    /// Sets the body to a text that is JSON already.
    pub fn json_text(mut self, body: String) -> Self {
        let json = HeaderValue::from_static("application/json");
        self.builder = self.builder.header(CONTENT_TYPE, json).body(body);
        self
    }

    /// Sends the request and reads the reply, whose status is 2xx.
    pub async fn send(self) -> Result<Reply> {
        let response = self.builder.send().await?;
        Reply::read(response, self.max_reply_bytes, self.redactor).await
    }

    /// Sends the request and reads the body of the reply.
    pub async fn reply<T: DeserializeOwned>(self) -> Result<T> {
        self.send().await?.json()
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request").finish_non_exhaustive()
    }
}
