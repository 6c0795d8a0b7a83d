//! How requests travel: below the library that knows the protocol, above the one that knows HTTP.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use async_openai::config::Config;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use http::HeaderMap;
use http::header::{AUTHORIZATION, RETRY_AFTER};
use reqwest::Response;
use secrecy::SecretString;
use serde_json::Value;

use crate::error::{Error, blot, excerpt};

/// An answer that is larger than this is none.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Where a model is, and what it wants to see. The library's own configuration reads the
/// environment by itself, and panics where a key cannot be a header.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) base_url: String,
    pub(crate) authorization: Option<http::HeaderValue>,
    /// What the library asks for and we have put into the header already.
    pub(crate) no_key: SecretString,
}

impl Config for Place {
    fn headers(&self) -> HeaderMap {
        let key = self.authorization.clone();
        key.map(|key| (AUTHORIZATION, key)).into_iter().collect()
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base_url)
    }

    fn query(&self) -> Vec<(&str, &str)> {
        Vec::new()
    }

    fn api_base(&self) -> &str {
        &self.base_url
    }

    fn api_key(&self) -> &SecretString {
        &self.no_key
    }
}

/// Sends one request once. What comes back is whole, of a bounded size, and JSON; everything else is
/// an error that tells the status and how long to wait, which the library's errors leave out.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    pub(crate) http: reqwest::Client,
    pub(crate) timeout: Duration,
}

impl tower::Service<HttpRequestFactory> for Wire {
    type Response = Response;
    type Error = OpenAIError;
    type Future = Pin<Box<dyn Future<Output = Result<Response, OpenAIError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OpenAIError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, factory: HttpRequestFactory) -> Self::Future {
        let wire = self.clone();
        Box::pin(async move {
            let request = factory.build().await?;
            Ok(wire.exchange(request).await?)
        })
    }
}

impl Wire {
    async fn exchange(&self, request: reqwest::Request) -> Result<Response, Error> {
        let failed = |error| self.failed(error);
        let sent = request.headers().get(AUTHORIZATION).cloned();
        let sent = sent.as_ref().and_then(|value| value.to_str().ok());
        let key = sent.map(|sent| sent.strip_prefix("Bearer ").unwrap_or(sent));
        let mut response = self.http.execute(request).await.map_err(failed)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_BODY {
                return Err(Error::Malformed(format!("more than {MAX_BODY} bytes")));
            }
        }
        if !status.is_success() {
            return Err(Error::Refused {
                status: status.as_u16(),
                message: said(&blot(&String::from_utf8_lossy(&body), key)),
                retry_after: retry_after(&headers),
            });
        }
        // Here, because the library would write what it cannot read into the log.
        if let Err(error) = serde_json::from_slice::<Value>(&body) {
            let shown = excerpt(&blot(&String::from_utf8_lossy(&body), key));
            return Err(Error::Malformed(format!("{error}, in {shown}")));
        }
        Ok(http::Response::new(body).into())
    }

    fn failed(&self, error: reqwest::Error) -> Error {
        if error.is_timeout() {
            return Error::Timeout(self.timeout);
        }
        // The address may hold what is nobody's business; the reason is what helps.
        let error = error.without_url();
        let mut message = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            source = cause.source();
        }
        Error::Unreachable(message)
    }
}

/// What an error's body says, in the forms that servers have.
fn said(text: &str) -> String {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        return excerpt(text);
    };
    let error = value.get("error").unwrap_or(&value);
    let message = error.get("message").or(Some(error)).and_then(Value::as_str);
    let code = ["code", "type"]
        .iter()
        .find_map(|name| error.get(name).and_then(Value::as_str));
    match (message, code) {
        (Some(message), Some(code)) => format!("{} ({code})", excerpt(message)),
        (Some(message), None) => excerpt(message),
        (None, _) => excerpt(text),
    }
}

/// In milliseconds as OpenAI says it, in seconds, or as a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let milliseconds = header("retry-after-ms").and_then(|text| text.trim().parse().ok());
    if let Some(milliseconds) = milliseconds {
        return Some(Duration::from_millis(milliseconds));
    }
    let text = header(RETRY_AFTER.as_str())?.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = httpdate::parse_http_date(text).ok()?;
    Some(then.duration_since(SystemTime::now()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &'static str, value: &str) -> HeaderMap {
        [(http::HeaderName::from_static(name), value.parse().unwrap())]
            .into_iter()
            .collect()
    }

    #[test]
    fn a_wait_is_read_in_every_form() {
        let read = |name, value| retry_after(&header(name, value));
        assert_eq!(read("retry-after", "3"), Some(Duration::from_secs(3)));
        assert_eq!(read("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(
            read("retry-after-ms", "20"),
            Some(Duration::from_millis(20))
        );
        assert_eq!(
            read("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"),
            Some(Duration::ZERO)
        );
        for nonsense in ["soon", "-1", "NaN", "1e300"] {
            assert_eq!(read("retry-after", nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn what_a_server_says_is_found_in_every_form() {
        for (body, message) in [
            (
                r#"{"error": {"message": "no", "type": "t", "code": null}}"#,
                "`no` (t)",
            ),
            (r#"{"error": "model not found"}"#, "`model not found`"),
            (r#"{"message": "no"}"#, "`no`"),
            ("<html>\n502</html>", "`<html> 502</html>`"),
            ("[1]", "`[1]`"),
            ("", "``"),
        ] {
            assert_eq!(said(body), message, "{body}");
        }
    }
}
