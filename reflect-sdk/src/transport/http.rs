use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use reflect_types::{
    ApiKey, BOOTSTRAP_TOKEN, Bootstrap, Bootstrapped, CreateApiKey, CreateSkill, CreateTrace,
    CreatedApiKey, DeleteProject, DeleteTraces, DeletedProject, DeletedTraces, ErrorCode,
    GetHealth, GetSkill, GetTrace, Health, IDEMPOTENCY_KEY, KeyId, ListApiKeys, ListTraces, Memory,
    Operation as _, ProjectId, QueryMemories, RetryTrace, Review, RevokeApiKey, Skill, Trace,
    TraceId, TraceReceipt, WithdrawReview,
};
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, LINK, LOCATION, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Transport;
use super::listing::Listing;
use super::redact::Redact;
use crate::error::{ApiError, Error, Result};

/// The Reflect HTTP API.
pub(crate) struct Http {
    base: String,
    client: reqwest::Client,
    /// `Bearer …`, marked sensitive; absent for a client that has no key yet.
    authorization: Option<HeaderValue>,
    /// Keeps the key out of messages.
    redact: Redact,
    options: HttpOptions,
}

/// How long the HTTP layer waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HttpOptions {
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
}

impl Http {
    /// Checks the address and the key; nothing is sent yet.
    pub(crate) fn new(
        base_url: &str,
        key: Option<&SecretString>,
        options: HttpOptions,
    ) -> Result<Self> {
        let base = base_address(base_url)?;
        let authorization = key.map(bearer).transpose()?;
        Ok(Self {
            base,
            client: connections(options)
                .map_err(|error| Error::Config(format!("the HTTP client cannot start: {error}")))?,
            authorization,
            redact: key.map_or_else(Redact::default, |key| Redact::default().and(key)),
            options,
        })
    }

    /// Asks for the first key of a project.
    pub(crate) async fn bootstrap(
        &self,
        token: &SecretString,
        request: &Bootstrap,
    ) -> Result<Bootstrapped> {
        let header = secret_header("bootstrap token", token.expose_secret())?;
        self.post(Bootstrap::PATH)
            .secret(BOOTSTRAP_TOKEN, header, token)
            .json(request)
            .reply()
            .await
    }

    fn get(&self, path: &str) -> Request {
        self.request(Method::GET, path)
    }

    fn post(&self, path: &str) -> Request {
        self.request(Method::POST, path)
    }

    fn request(&self, method: Method, path: &str) -> Request {
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        Request {
            builder: request,
            redact: self.redact.clone(),
        }
    }
}

#[async_trait]
impl Transport for Http {
    async fn health(&self) -> Result<Health> {
        self.get(&GetHealth.path(&ProjectId::default()))
            .reply()
            .await
    }

    async fn query_memories(
        &self,
        project: &ProjectId,
        query: &QueryMemories,
    ) -> Result<Vec<Memory>> {
        let memories: Option<_> = self.post(&query.path(project)).json(query).reply().await?;
        Ok(memories.unwrap_or_default())
    }

    async fn create_trace(
        &self,
        project: &ProjectId,
        trace: &CreateTrace,
        idempotency_key: &str,
    ) -> Result<TraceReceipt> {
        let key = HeaderValue::from_str(idempotency_key).map_err(|_| {
            Error::Config("the idempotency key has characters that no header can carry".to_owned())
        })?;
        self.post(&trace.path(project))
            .header(IDEMPOTENCY_KEY, key)
            .json(trace)
            .reply()
            .await
    }

    async fn list_traces(&self, project: &ProjectId, which: &ListTraces) -> Result<Vec<Trace>> {
        let mut listing = Listing::of(which);
        loop {
            let request = self.get(&listing.rest.path(project));
            let (page, headers) = request.reply_and_headers().await?;
            if !listing.add(page, !headers.contains_key(LINK)) {
                return Ok(listing.found());
            }
        }
    }

    async fn get_trace(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        self.get(&GetTrace::new(id).path(project)).reply().await
    }

    async fn review_trace(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: &Review,
    ) -> Result<Trace> {
        self.post(&WithdrawReview::new(id).path(project))
            .json(review)
            .reply()
            .await
    }

    async fn change_review(
        &self,
        project: &ProjectId,
        id: &TraceId,
        review: &Review,
    ) -> Result<Trace> {
        self.request(Method::PUT, &WithdrawReview::new(id).path(project))
            .json(review)
            .reply()
            .await
    }

    async fn withdraw_review(&self, project: &ProjectId, id: &TraceId) -> Result<Trace> {
        self.request(Method::DELETE, &WithdrawReview::new(id).path(project))
            .reply()
            .await
    }

    async fn retry_trace(&self, project: &ProjectId, id: &TraceId) -> Result<TraceReceipt> {
        self.post(&RetryTrace::new(id).path(project))
            .json(&json!({}))
            .reply()
            .await
    }

    async fn delete_traces(
        &self,
        project: &ProjectId,
        which: &DeleteTraces,
    ) -> Result<DeletedTraces> {
        self.post(&which.path(project)).json(which).reply().await
    }

    async fn get_skill(&self, project: &ProjectId) -> Result<Option<Skill>> {
        match self.get(&GetSkill.path(project)).reply().await {
            Err(error) if error.status() == Some(404) => Ok(None),
            reply => reply,
        }
    }

    async fn create_skill(&self, project: &ProjectId, how: &CreateSkill) -> Result<Skill> {
        self.post(&how.path(project)).json(how).reply().await
    }

    async fn list_api_keys(&self, project: &ProjectId) -> Result<Vec<ApiKey>> {
        self.get(&ListApiKeys.path(project)).reply().await
    }

    async fn create_api_key(
        &self,
        project: &ProjectId,
        key: &CreateApiKey,
    ) -> Result<CreatedApiKey> {
        self.post(&ListApiKeys.path(project))
            .json(key)
            .reply()
            .await
    }

    async fn revoke_api_key(&self, project: &ProjectId, id: &KeyId) -> Result<ApiKey> {
        self.post(&RevokeApiKey::new(id).path(project))
            .json(&json!({}))
            .reply()
            .await
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<DeletedProject> {
        self.request(Method::DELETE, &DeleteProject.path(project))
            .reply()
            .await
    }

    fn server(&self) -> Option<String> {
        Some(self.base.clone())
    }

    fn after_fork(self: Arc<Self>) -> Option<Arc<dyn Transport>> {
        // A second client can only fail where the first one did, and that one was built.
        Some(Arc::new(Self {
            base: self.base.clone(),
            client: connections(self.options).ok()?,
            authorization: self.authorization.clone(),
            redact: self.redact.clone(),
            options: self.options,
        }))
    }
}

/// A connection pool of its own.
fn connections(options: HttpOptions) -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .user_agent(concat!("reflect-sdk-rust/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(options.connect_timeout)
        .timeout(options.request_timeout)
        // The API never redirects; following would hide a wrong address.
        .redirect(reqwest::redirect::Policy::none())
        .build()
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http")
            .field("base_url", &self.base)
            .finish_non_exhaustive()
    }
}

/// A request on its way, whose reply is JSON or an error.
struct Request {
    builder: RequestBuilder,
    redact: Redact,
}

impl Request {
    fn header(mut self, name: &str, value: HeaderValue) -> Self {
        self.builder = self.builder.header(name, value);
        self
    }

    /// A header whose value no message may show.
    fn secret(mut self, name: &str, value: HeaderValue, secret: &SecretString) -> Self {
        self.redact = self.redact.and(secret);
        self.header(name, value)
    }

    fn json(mut self, body: &impl serde::Serialize) -> Self {
        self.builder = self.builder.json(body);
        self
    }

    async fn reply<T: DeserializeOwned>(self) -> Result<T> {
        let (reply, _) = self.reply_and_headers().await?;
        Ok(reply)
    }

    async fn reply_and_headers<T: DeserializeOwned>(self) -> Result<(T, HeaderMap)> {
        let response = self.builder.send().await.map_err(no_answer)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = whole(response).await?;
        if !status.is_success() {
            return Err(refusal(status.as_u16(), &headers, &body, &self.redact));
        }
        let reply = serde_json::from_slice(&body).map_err(|error| Error::Decode {
            status: status.as_u16(),
            problem: self.redact.text(&error.to_string()),
            excerpt: self.redact.excerpt(&body),
        })?;
        Ok((reply, headers))
    }
}

/// The body, unless it is longer than any reply of the API: a wrong address may answer without end,
/// which must not take the memory of the agent.
async fn whole(mut response: Response) -> Result<Vec<u8>> {
    const LONGEST: u64 = 256 * 1024 * 1024;

    let status = response.status().as_u16();
    let too_long = || Error::Decode {
        status,
        problem: "it is longer than 256 MiB: check the base URL, or ask for fewer at a time"
            .to_owned(),
        excerpt: "(left out)".to_owned(),
    };
    if response
        .content_length()
        .is_some_and(|length| length > LONGEST)
    {
        return Err(too_long());
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(no_answer)? {
        body.extend_from_slice(&chunk);
        if body.len() as u64 > LONGEST {
            return Err(too_long());
        }
    }
    Ok(body)
}

/// What a refusal says, whichever server it comes from.
fn refusal(status: u16, headers: &HeaderMap, body: &[u8], redact: &Redact) -> Error {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |field: &str| said[field].as_str().map(|text| redact.text(text));
    let location = || header(LOCATION.as_str()).map(|location| redact.address(location));
    let detail = match text("detail") {
        Some(detail) => detail,
        None if (300..400).contains(&status) => format!(
            "the server redirects to {}: set the base URL to where the API really is",
            location().as_deref().unwrap_or("somewhere else")
        ),
        None => format!("the server refused: {}", redact.excerpt(body)),
    };
    let code = text("code");
    Error::Api(Box::new(ApiError {
        status,
        by_reflect: code.is_some(),
        code: code.map_or_else(|| code_of(status), |code| ErrorCode::from(code.as_str())),
        detail,
        field: text("field"),
        request_id: header("x-request-id").map(|id| redact.text(id)),
        retry_after: header(RETRY_AFTER.as_str()).and_then(|after| wait(after, SystemTime::now())),
    }))
}

/// The code that goes with a status, for servers that send none.
fn code_of(status: u16) -> ErrorCode {
    let known = ErrorCode::KNOWN.iter().find(|code| code.status() == status);
    known
        .cloned()
        .unwrap_or_else(|| ErrorCode::Other(format!("http_{status}")))
}

/// `Retry-After`: seconds, or a date.
fn wait(retry_after: &str, now: SystemTime) -> Option<Duration> {
    let text = retry_after.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

fn no_answer(error: reqwest::Error) -> Error {
    // The address is left out: it is the user's own and may hold what should not be logged.
    let error = error.without_url();
    let message = if error.is_timeout() {
        "Reflect did not answer in time"
    } else if error.is_connect() {
        "Reflect cannot be reached: check the base URL, and that the server is running"
    } else {
        "the connection to Reflect was lost"
    };
    Error::Transport {
        message: format!("{message} ({})", root_cause(&error)),
        maybe_done: !error.is_connect(),
        source: Some(Box::new(error)),
    }
}

fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

fn base_address(url: &str) -> Result<String> {
    let wrong = |problem: &str| {
        Error::Config(format!(
            "the base URL {problem}: it should look like http://localhost:8000 \
             (set REFLECT_BASE_URL or pass it to `http`)"
        ))
    };
    let parsed = Url::parse(url.trim()).map_err(|e| wrong(&format!("is no URL ({e})")))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(wrong("must begin with http:// or https://"));
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err(wrong(
            "must not hold a user or password, as it is shown in messages",
        ));
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err(wrong("must end with the path, without `?` or `#`"));
    }
    Ok(parsed.as_str().trim_end_matches('/').to_owned())
}

fn bearer(key: &SecretString) -> Result<HeaderValue> {
    let key = key.expose_secret().trim();
    if key.is_empty() {
        return Err(Error::Config(
            "the API key is empty: set REFLECT_API_KEY or pass it to `http`".to_owned(),
        ));
    }
    secret_header("API key", &format!("Bearer {key}"))
}

fn secret_header(what: &str, secret: &str) -> Result<HeaderValue> {
    let garbled = || {
        Error::Config(format!(
            "the {what} has characters that no key has: was it copied with a line break?"
        ))
    };
    let plain = secret.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let mut value = plain
        .then(|| HeaderValue::from_str(secret).ok())
        .flatten()
        .ok_or_else(garbled)?;
    value.set_sensitive(true);
    Ok(value)
}
