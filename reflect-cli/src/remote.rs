//! An HTTP client for the endpoints that the SDK does not cover.

use std::time::Duration;

use reqwest::{Method, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;

/// A server and its API key.
#[derive(Debug)]
pub(crate) struct Remote {
    base: String,
    key: SecretString,
    http: reqwest::Client,
}

impl Remote {
    pub(crate) fn new(base: &str, key: SecretString) -> Result<Self, Failure> {
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(10))
            .timeout(Duration::from_secs(120))
            .build()?;
        Ok(Self {
            base: base.trim().trim_end_matches('/').to_owned(),
            key,
            http,
        })
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&str, String)],
    ) -> Result<T, Failure> {
        let query = serde_urlencoded::to_string(parameters)
            .map_err(|error| Failure::general(error.to_string()))?;
        let request = self.request(Method::GET, &format!("{path}?{query}"));
        self.answer(request).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: String,
    ) -> Result<T, Failure> {
        let json = ("content-type", "application/json");
        let request = self.request(Method::POST, path);
        self.answer(request.header(json.0, json.1).body(body)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.base))
            .bearer_auth(self.key.expose_secret())
    }

    async fn answer<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Failure> {
        let response = request.send().await?;
        let status = response.status();
        let body = response.bytes().await?;
        if status.is_success() {
            return Ok(serde_json::from_slice(&body)?);
        }
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        let detail = said["detail"].as_str().unwrap_or("request refused");
        Err(Failure::refused(status.as_u16(), detail))
    }
}
