use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// The requests and tokens of a client so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Usage {
    /// Requests sent, retries included.
    pub calls: u64,
    /// Requests that failed.
    pub failures: u64,
    /// Tokens read by the model, as its server counts them.
    pub prompt_tokens: u64,
    /// Tokens written by the model.
    pub completion_tokens: u64,
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} calls ({} failed), {} tokens read, {} written",
            self.calls, self.failures, self.prompt_tokens, self.completion_tokens
        )
    }
}

/// The tokens of one request, as the server counts them.
#[derive(Debug, Deserialize)]
pub(crate) struct Tokens {
    #[serde(default)]
    prompt_tokens: u64,
    #[serde(default)]
    completion_tokens: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    calls: AtomicU64,
    failures: AtomicU64,
    prompt_tokens: AtomicU64,
    completion_tokens: AtomicU64,
}

impl Counters {
    pub(crate) fn called(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn spent(&self, tokens: &Tokens) {
        self.prompt_tokens
            .fetch_add(tokens.prompt_tokens, Ordering::Relaxed);
        self.completion_tokens
            .fetch_add(tokens.completion_tokens, Ordering::Relaxed);
    }

    pub(crate) fn usage(&self) -> Usage {
        Usage {
            calls: self.calls.load(Ordering::Relaxed),
            failures: self.failures.load(Ordering::Relaxed),
            prompt_tokens: self.prompt_tokens.load(Ordering::Relaxed),
            completion_tokens: self.completion_tokens.load(Ordering::Relaxed),
        }
    }
}
