use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reflect_engine::{Builder, Engine};
use reflect_types::ProjectId;

use super::{BoxFuture, Reply, Request, Transport};
use crate::error::{Error, Result};

/// An engine in the same process. It lives on the client's I/O thread.
pub(crate) struct Embedded {
    engine: Engine,
    server: String,
}

impl Embedded {
    /// Starts an engine on the file at `path`, on the calling runtime.
    pub(crate) async fn open(path: PathBuf) -> Result<Self> {
        if path.as_os_str().is_empty() {
            return Err(Error::Config("the path of the file is empty".to_owned()));
        }
        let server = address(&path);
        let engine = Engine::open_sqlite(path)
            .await
            .map_err(|error| match error {
                reflect_engine::Error::Inaccessible { .. }
                | reflect_engine::Error::Foreign { .. } => Error::Config(error.to_string()),
                error => error.into(),
            })?;
        Ok(Self { engine, server })
    }

    /// Starts an engine with settings of its own, on the calling runtime.
    pub(crate) fn start(settings: Builder) -> Result<Self> {
        Ok(Self {
            // Its store has no name.
            server: "embedded".to_owned(),
            engine: settings.start()?,
        })
    }
}

/// The absolute path as it is spelled: links cannot be followed before the file exists.
fn address(path: &PathBuf) -> String {
    let absolute = std::path::absolute(path);
    let path = absolute.as_ref().unwrap_or(path);
    format!("embedded:{}", path.display())
}

impl Transport for Embedded {
    fn call<'a>(
        &'a self,
        project: &'a ProjectId,
        request: &'a Request,
    ) -> BoxFuture<'a, Result<Reply>> {
        Box::pin(async move { Ok(self.engine.call(project, request).await?) })
    }

    fn server(&self) -> Option<String> {
        Some(self.server.clone())
    }

    fn close_within(&self, limit: Duration) -> BoxFuture<'_, ()> {
        // The rest of the time is for handing back the jobs in progress.
        let grace = limit / 5 * 4;
        Box::pin(async move {
            // The data is safe either way: this releases the jobs in progress.
            if let Err(error) = self.engine.shutdown_within(grace).await {
                tracing::warn!(target: "reflect", %error, "the engine did not shut down cleanly");
            }
        })
    }
}

impl fmt::Debug for Embedded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Embedded").field(&self.server).finish()
    }
}

impl From<reflect_engine::Error> for Error {
    fn from(error: reflect_engine::Error) -> Self {
        Self::from(error.body()).with_retry_after(error.retry_after())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_has_one_address_however_it_is_spelled() {
        let address = |path: &str| address(&path.into());
        assert_ne!(address("staging.db"), address("production.db"));
        let folder = std::env::current_dir().unwrap();
        let whole = folder.join("staging.db");
        assert_eq!(address("./staging.db"), address(whole.to_str().unwrap()));
        let other = folder.join("elsewhere").join("staging.db");
        assert_ne!(address("staging.db"), address(other.to_str().unwrap()));
    }
}
