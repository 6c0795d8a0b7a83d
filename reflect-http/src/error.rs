use crate::refusal::Refusal;

/// The result of a request.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a request has no usable reply. No text holds a secret or an address.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered with a status other than 2xx.
    #[error("{0}")]
    Refused(Box<Refusal>),

    /// No reply arrived, or only a part of it.
    #[error("{0}")]
    NoReply(#[source] NoReply),

    /// The reply is longer than the client's limit.
    #[error("the reply with status {status} is longer than {limit} bytes")]
    TooLong {
        /// The HTTP status.
        status: u16,
        /// The limit in force.
        limit: usize,
    },

    /// The reply succeeded but is not the expected JSON.
    #[error("the reply with status {status} is not as expected: {problem}; it begins: {excerpt}")]
    NotJson {
        /// The HTTP status.
        status: u16,
        /// The parser's message.
        problem: String,
        /// How the body begins.
        excerpt: String,
    },
}

impl Error {
    /// The HTTP status, where a reply arrived.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status()),
            Self::TooLong { status, .. } | Self::NotJson { status, .. } => Some(*status),
            Self::NoReply(_) => None,
        }
    }

    /// Whether the server may have carried out the request. A refusal is taken at its word.
    pub fn may_be_done(&self) -> bool {
        match self {
            Self::Refused(_) => false,
            Self::NoReply(no_reply) => no_reply.may_be_done(),
            Self::TooLong { .. } | Self::NotJson { .. } => true,
        }
    }
}

/// A request whose reply did not arrive.
#[derive(Debug, thiserror::Error)]
#[error("{} ({}){}", self.kind().describe(), self.reason(), self.hint())]
pub struct NoReply(#[source] reqwest::Error);

/// What kept a reply from arriving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoReplyKind {
    /// The time limit passed.
    Timeout,
    /// No connection was made.
    Unreachable,
    /// The connection broke off.
    Interrupted,
    /// The request could not be formed, for example because its body is not JSON.
    Unsendable,
}

impl NoReplyKind {
    fn describe(self) -> &'static str {
        match self {
            Self::Timeout => "no reply in time",
            Self::Unreachable => "the server cannot be reached",
            Self::Interrupted => "the connection was lost",
            Self::Unsendable => "the request cannot be sent",
        }
    }
}

impl NoReply {
    /// What happened.
    pub fn kind(&self) -> NoReplyKind {
        if self.0.is_timeout() {
            NoReplyKind::Timeout
        } else if self.0.is_connect() {
            NoReplyKind::Unreachable
        } else if self.0.is_builder() {
            NoReplyKind::Unsendable
        } else {
            NoReplyKind::Interrupted
        }
    }

    /// Whether the request may have reached the server. A timeout while connecting has not.
    pub fn may_be_done(&self) -> bool {
        !self.0.is_connect() && !self.0.is_builder()
    }

    /// What to do where TLS is the problem: how to trust the server, or that it has none; else nothing.
    pub fn hint(&self) -> &'static str {
        match self.reason() {
            _ if self.kind() != NoReplyKind::Unreachable => "",
            reason if reason.contains("certificate") => {
                ": on Linux, SSL_CERT_FILE names a file with the certificates of a private authority"
            }
            reason if reason.contains("InvalidContentType") => {
                ": the server does not answer with TLS, so use http:// in place of https://"
            }
            _ => "",
        }
    }

    /// The innermost cause, such as `Connection refused`.
    pub fn reason(&self) -> String {
        let mut cause: &dyn std::error::Error = &self.0;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        cause.to_string()
    }
}

impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Self {
        Self::NoReply(NoReply(error.without_url()))
    }
}
