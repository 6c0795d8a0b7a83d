//! Whether the server can store runs.

use std::time::Duration;

use reflect_engine::Engine;
use reflect_types::ErrorCode;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

/// The result of the last check, which is a real write shared by all requests of that time.
#[derive(Debug, Default)]
pub(crate) struct Readiness {
    last: Mutex<Option<Check>>,
}

#[derive(Debug)]
struct Check {
    at: Instant,
    result: Result<(), String>,
}

/// How long the result of a successful check is used.
const READY_TTL: Duration = Duration::from_secs(10);
/// How long the result of a failed check is used.
const UNREADY_TTL: Duration = Duration::from_secs(1);
/// Timeout of a check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

impl Readiness {
    /// Checks the engine, unless it was checked a short time ago. An error is the reason, without paths.
    pub(crate) async fn check(&self, engine: &Engine) -> Result<(), String> {
        let mut last = self.last.lock().await;
        if let Some(check) = last.as_ref().filter(|check| check.is_fresh()) {
            return check.result.clone();
        }
        let result = write(engine).await;
        *last = Some(Check {
            at: Instant::now(),
            result: result.clone(),
        });
        result
    }
}

impl Check {
    fn is_fresh(&self) -> bool {
        let ttl = match self.result {
            Ok(()) => READY_TTL,
            Err(_) => UNREADY_TTL,
        };
        self.at.elapsed() < ttl
    }
}

async fn write(engine: &Engine) -> Result<(), String> {
    match timeout(CHECK_TIMEOUT, engine.ready()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => {
            tracing::error!(%error, "not ready");
            // Other errors have paths, which are for the operator only.
            Err(match error.code() {
                ErrorCode::Unavailable => error.to_string(),
                _ => "the store cannot be written: the server's log has the reason".to_owned(),
            })
        }
        Err(_) => Err("the store does not answer".to_owned()),
    }
}
