use std::sync::Arc;
use std::time::Duration;

use reflect_http::{
    BuildError, Client, InvalidHeader, NoReply, NoReplyKind, Refusal, SecretString,
};
use reflect_types::{
    BOOTSTRAP_TOKEN, Bootstrap, Bootstrapped, CreateTrace, ErrorCode, IDEMPOTENCY_KEY, Method,
    ProjectId,
};
use serde_json::Value;

use super::{BoxFuture, Reply, Request, Transport};
use crate::error::{ApiError, Error, Result};

/// The Reflect HTTP API.
#[derive(Clone, Debug)]
pub(crate) struct Http(Client);

/// The timeouts of the HTTP layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    pub(crate) connect: Duration,
    pub(crate) request: Duration,
}

/// A longer reply is none of the API's: a wrong address may answer without end.
const MAX_REPLY: usize = 256 * 1024 * 1024;

impl Http {
    /// Checks the address and the key. Nothing is sent.
    pub(crate) fn new(
        base_url: &str,
        key: Option<SecretString>,
        timeouts: Timeouts,
    ) -> Result<Self> {
        let mut builder = Client::builder(base_url)
            .user_agent(concat!("reflect-sdk-rust/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(timeouts.connect)
            .timeout(timeouts.request)
            .max_reply_bytes(MAX_REPLY);
        if let Some(key) = key {
            builder = builder.bearer(key);
        }
        Ok(Self(builder.build()?))
    }

    /// Creates the first key of a project.
    pub(crate) async fn bootstrap(
        &self,
        token: &SecretString,
        request: &Bootstrap,
    ) -> Result<Bootstrapped> {
        let http = self.0.post(Bootstrap::PATH);
        let http = http.secret_header(BOOTSTRAP_TOKEN, token);
        let http = http.map_err(|_| unprintable("bootstrap token"))?;
        Ok(http.json(request).reply().await?)
    }

    async fn send(&self, project: &ProjectId, request: &Request) -> Result<Reply> {
        let method = match request.method() {
            Method::Get => reflect_http::Method::GET,
            Method::Put => reflect_http::Method::PUT,
            Method::Patch => reflect_http::Method::PATCH,
            Method::Delete => reflect_http::Method::DELETE,
            // `Post`, the only other one.
            _ => reflect_http::Method::POST,
        };
        let mut http = self.0.request(method, &request.path(project));
        if let Request::CreateTrace(CreateTrace {
            idempotency_key: Some(key),
            ..
        }) = request
        {
            http = http.header(IDEMPOTENCY_KEY, key)?;
        }
        let body = request.body().map_err(unsendable)?;
        if !body.is_empty() {
            http = http.json_text(String::from_utf8(body).map_err(unsendable)?);
        }
        match http.send().await {
            Ok(reply) => {
                let more = reply.header("link").is_some_and(names_next_page);
                Ok(reply.decode(|body| request.decode(body, more))?)
            }
            Err(reflect_http::Error::Refused(refusal)) => {
                let absent = says_not_found(&refusal).then(|| request.absent());
                absent.flatten().ok_or_else(|| refused(&refusal))
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Transport for Http {
    fn call<'a>(
        &'a self,
        project: &'a ProjectId,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(self.send(project, request))
    }

    fn server(&self) -> Option<String> {
        Some(self.0.base_url().to_owned())
    }
}

impl From<reflect_http::Error> for Error {
    fn from(error: reflect_http::Error) -> Self {
        match error {
            reflect_http::Error::Refused(refusal) => refused(&refusal),
            reflect_http::Error::NoReply(no_reply) => unanswered(no_reply),
            reflect_http::Error::NotJson {
                status,
                problem,
                excerpt,
            } => Self::Decode {
                status,
                problem,
                excerpt,
            },
            reflect_http::Error::TooLong { status, limit } => Self::Decode {
                status,
                problem: format!(
                    "it is longer than {} MiB: check the base URL, or ask for fewer at a time",
                    limit / (1024 * 1024)
                ),
                excerpt: "(left out)".to_owned(),
            },
            other => Self::Transport {
                message: other.to_string(),
                maybe_done: other.may_be_done(),
                source: Some(Arc::new(other)),
            },
        }
    }
}

/// The refusal of any server: that of Reflect has a code, others may have anything.
fn refused(refusal: &Refusal) -> Error {
    let status = refusal.status();
    let body = refusal.json().unwrap_or_default();
    let text = |field: &str| body.get(field).and_then(Value::as_str).map(str::to_owned);
    let detail = match text("detail") {
        Some(detail) => detail,
        None if (300..400).contains(&status) => format!(
            "the server redirects to {}: set the base URL to the address of the API",
            refusal.location().as_deref().unwrap_or("another address")
        ),
        None => format!("the server refused: {}", refusal.excerpt()),
    };
    let code = text("code");
    Error::Api(Box::new(ApiError {
        status,
        by_reflect: code.is_some(),
        code: code.map_or_else(|| code_of(status), |code| ErrorCode::from(code.as_str())),
        detail,
        field: text("field"),
        request_id: refusal.header("x-request-id"),
        retry_after: refusal.retry_after(),
    }))
}

/// Whether an API, and not a proxy or a web server, replies that something does not exist.
fn says_not_found(refusal: &Refusal) -> bool {
    let says_why = |body: serde_json::Value| body.get("detail").is_some();
    refusal.status() == 404 && refusal.json().is_some_and(says_why)
}

/// Whether a `Link` header has a target with `rel="next"`.
fn names_next_page(link: impl AsRef<str>) -> bool {
    let is_next = |parameter: &str| {
        parameter
            .trim()
            .split_once('=')
            .is_some_and(|(name, value)| {
                let value = value.trim().trim_matches('"');
                name.trim().eq_ignore_ascii_case("rel")
                    && value
                        .split_whitespace()
                        .any(|rel| rel.eq_ignore_ascii_case("next"))
            })
    };
    // After each target in angle brackets, up to the next one.
    link.as_ref().split('>').skip(1).any(|after| {
        after
            .split(',')
            .next()
            .is_some_and(|own| own.split(';').any(is_next))
    })
}

/// The code of a status, for servers that send none.
fn code_of(status: u16) -> ErrorCode {
    let known = ErrorCode::KNOWN.iter().find(|code| code.status() == status);
    known
        .cloned()
        .unwrap_or_else(|| ErrorCode::Other(format!("http_{status}")))
}

fn unanswered(no_reply: NoReply) -> Error {
    let problem = match no_reply.kind() {
        NoReplyKind::Timeout => "Reflect did not answer in time",
        NoReplyKind::Unreachable => {
            "Reflect cannot be reached: check the base URL, and that the server is running"
        }
        NoReplyKind::Unsendable => "the request cannot be sent",
        _ => "the connection to Reflect was lost",
    };
    Error::Transport {
        message: format!("{problem} ({}){}", no_reply.reason(), no_reply.hint()),
        maybe_done: no_reply.may_be_done(),
        source: Some(Arc::new(no_reply)),
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Address(problem) => Self::Config(format!(
                "the base URL {problem}: it should look like http://localhost:8000 \
                 (set REFLECT_BASE_URL or pass it to `http`)"
            )),
            BuildError::EmptyKey => Self::Config(
                "the API key is empty: set REFLECT_API_KEY or pass it to `http`".to_owned(),
            ),
            BuildError::UnprintableKey => unprintable("API key"),
            other => Self::Config(other.to_string()),
        }
    }
}

impl From<InvalidHeader> for Error {
    fn from(_: InvalidHeader) -> Self {
        unprintable("idempotency key")
    }
}

fn unprintable(secret: &str) -> Error {
    Error::Config(format!(
        "the {secret} has characters that no header can carry: was it copied with a line break?"
    ))
}

fn unsendable(error: impl std::error::Error) -> Error {
    Error::Config(format!("the request cannot be encoded as JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_link_to_the_next_page_is_one() {
        for link in [
            r#"</v1/projects/p/traces?before=a,b>; rel="next""#,
            r#"<a>; rel=preload, <b>; title="x"; rel=next"#,
            r#"<a>; REL="prev Next""#,
        ] {
            assert!(names_next_page(link), "{link}");
        }
        for link in [
            "",
            "<a>",
            r#"<a>; rel="preload""#,
            r#"<next>; rel="prev""#,
            "rel=next",
        ] {
            assert!(!names_next_page(link), "{link}");
        }
    }
}
