use std::env;
use std::sync::Arc;
use std::time::Duration;

#[cfg(feature = "embedded")]
use reflect_engine::Engine;
use reflect_types::{ProjectId, Validate};
use secrecy::SecretString;

use super::{Core, ReflectClient};
use crate::error::{Error, Result};
#[cfg(feature = "embedded")]
use crate::transport::Embedded;
use crate::transport::{Http, HttpOptions, Transport};
use crate::worker::Worker;
use crate::worker::retry::RetryPolicy;

/// Puts a [`ReflectClient`] together: the settings first, the way to Reflect last.
///
/// ```
/// use std::time::Duration;
/// use reflect_sdk::{ReflectClient, RetryPolicy};
///
/// let client = ReflectClient::builder()
///     .project("support")
///     .timeout(Duration::from_secs(10))
///     .retry(RetryPolicy::default().attempts(5))
///     .http("http://localhost:8000", "rf_live_abc123_secret456")?;
/// assert_eq!(client.project().as_str(), "support");
/// # Ok::<(), reflect_sdk::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until it is told the way to Reflect, such as `.http(…)`"]
pub struct ClientBuilder {
    project: ProjectId,
    connect_timeout: Duration,
    timeout: Duration,
    deadline: Duration,
    retry: RetryPolicy,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            project: ProjectId::default(),
            connect_timeout: Duration::from_secs(5),
            // A deferred review answers only when its reflection is written.
            timeout: Duration::from_secs(60),
            deadline: Duration::from_secs(120),
            retry: RetryPolicy::default(),
        }
    }
}

impl ClientBuilder {
    /// The project that all calls are about; `default` where none is named.
    pub fn project(mut self, project: impl Into<ProjectId>) -> Self {
        self.project = project.into();
        self
    }

    /// How long to wait for one answer: 60 s unless set.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How long to wait for a connection: 5 s unless set.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How long a call may take with all its attempts: 120 s unless set.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// How often a call is tried, and how long is waited in between.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// A client of the server at `base_url`, such as `http://localhost:8000`.
    pub fn http(
        self,
        base_url: impl AsRef<str>,
        api_key: impl Into<String>,
    ) -> Result<ReflectClient> {
        let key = SecretString::from(api_key.into());
        let http = Http::new(base_url.as_ref(), Some(&key), self.http_options())?;
        self.transport(Arc::new(http))
    }

    /// A client of an engine in this process, which keeps everything in the file at `path`; it is
    /// made where there is none.
    ///
    /// No key, server or download is needed. Several processes may use one file.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("reflect.db");
    /// use reflect_sdk::ReflectClient;
    ///
    /// let client = ReflectClient::builder().project("support").embedded(path)?;
    /// assert!(client.blocking().query_memories("Refund order 7").call()?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "embedded")]
    pub fn embedded(self, path: impl Into<std::path::PathBuf>) -> Result<ReflectClient> {
        let path = path.into();
        let place = path.display().to_string();
        self.with_engine(place, async move { Engine::open_sqlite(path).await })
    }

    /// A client of an engine of your own making: another store, embedder or reflection writer.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use reflect_sdk::{ReflectClient, engine};
    ///
    /// // Nothing is kept beyond the process, as in a test.
    /// let settings = engine::Engine::builder().alpha(0.5);
    /// let client = ReflectClient::builder().embedded_engine(settings)?;
    /// # Ok::<(), reflect_sdk::Error>(())
    /// ```
    #[cfg(feature = "embedded")]
    pub fn embedded_engine(self, settings: reflect_engine::Builder) -> Result<ReflectClient> {
        self.with_engine(
            "a store of its own".to_owned(),
            async move { settings.start() },
        )
    }

    /// Starts the engine on the client's own thread, where it will live.
    #[cfg(feature = "embedded")]
    fn with_engine(
        self,
        place: String,
        start: impl Future<Output = reflect_engine::Result<Engine>> + Send + 'static,
    ) -> Result<ReflectClient> {
        self.project.validate()?;
        let worker = Worker::default();
        let engine = worker.wait(async move { Ok(start.await?) }, self.deadline)?;
        let transport = Arc::new(Embedded::new(engine, place));
        Ok(ReflectClient::with_core(self.core_on(worker, transport)))
    }

    /// A client of a transport of your own.
    pub fn transport(self, transport: Arc<dyn Transport>) -> Result<ReflectClient> {
        self.project.validate()?;
        Ok(ReflectClient::with_core(self.core(transport)))
    }

    /// A client for the server, the project and the key in `REFLECT_BASE_URL`,
    /// `REFLECT_PROJECT_ID` and `REFLECT_API_KEY`, with these settings otherwise.
    pub fn env(self) -> Result<ReflectClient> {
        self.variables(|name| env::var(name))
    }

    fn variables(
        self,
        read: impl Fn(&str) -> Result<String, env::VarError>,
    ) -> Result<ReflectClient> {
        let variable = |name: &str, example: &str| match read(name) {
            Ok(value) if !value.trim().is_empty() => Ok(value.trim().to_owned()),
            Ok(_) | Err(env::VarError::NotPresent) => Err(Error::Config(format!(
                "{name} is not set: export {name}={example}"
            ))),
            Err(env::VarError::NotUnicode(_)) => Err(Error::Config(format!(
                "{name} is not valid UTF-8: export {name}={example}"
            ))),
        };
        let key = variable("REFLECT_API_KEY", "rf_live_…")?;
        let project = variable("REFLECT_PROJECT_ID", "your-project")?;
        let base_url = variable("REFLECT_BASE_URL", "http://localhost:8000")?;
        self.project(project).http(base_url, key)
    }

    pub(super) fn http_options(&self) -> HttpOptions {
        HttpOptions {
            connect_timeout: self.connect_timeout,
            request_timeout: self.timeout,
        }
    }

    pub(super) fn core(self, transport: Arc<dyn Transport>) -> Core {
        self.core_on(Worker::default(), transport)
    }

    fn core_on(self, worker: Worker, transport: Arc<dyn Transport>) -> Core {
        Core {
            project: self.project,
            transport,
            worker,
            retry: self.retry,
            deadline: self.deadline,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(variables: &[(&str, &str)]) -> Result<ReflectClient> {
        ReflectClient::builder().variables(|name| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found
                .map(|(_, value)| (*value).to_owned())
                .ok_or(env::VarError::NotPresent)
        })
    }

    #[test]
    fn a_missing_or_empty_variable_is_named_with_an_example() {
        let missing = build(&[("REFLECT_PROJECT_ID", "p")])
            .unwrap_err()
            .to_string();
        assert_eq!(
            missing,
            "REFLECT_API_KEY is not set: export REFLECT_API_KEY=rf_live_…"
        );
        let empty = build(&[("REFLECT_API_KEY", "k"), ("REFLECT_PROJECT_ID", " ")]).unwrap_err();
        assert!(
            empty
                .to_string()
                .starts_with("REFLECT_PROJECT_ID is not set"),
            "{empty}"
        );
    }

    #[test]
    fn the_environment_makes_a_client() {
        let client = build(&[
            ("REFLECT_API_KEY", "k"),
            ("REFLECT_PROJECT_ID", "support"),
            ("REFLECT_BASE_URL", "http://localhost:8000/"),
        ]);
        assert_eq!(client.unwrap().project(), &ProjectId::from("support"));
    }

    #[test]
    fn a_malformed_address_is_refused_with_an_example() {
        for address in [
            "",
            "localhost:8000",
            "ftp://host",
            "http://user:pw@host",
            "http://h/?a=b",
        ] {
            let error = ReflectClient::builder()
                .http(address, "k")
                .unwrap_err()
                .to_string();
            assert!(
                error.contains("http://localhost:8000"),
                "{address}: {error}"
            );
            assert!(!error.contains("pw"), "{error}");
        }
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused_without_being_shown() {
        for key in ["", "  ", "rf_live_a\nb", "rf_live_\u{1F511}"] {
            let error = ReflectClient::builder().http("http://h", key).unwrap_err();
            assert!(matches!(error, Error::Config(_)), "{error}");
            assert!(
                !format!("{error} {error:?}").contains("rf_live_"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_project_that_would_leave_its_path_is_refused() {
        let error = ReflectClient::builder()
            .project("..")
            .http("http://h", "k")
            .unwrap_err();
        assert!(error.to_string().contains("project_id"), "{error}");
    }

    #[test]
    fn no_secret_is_ever_printed() {
        let builder = ReflectClient::builder().project("p");
        let client = builder
            .http("http://localhost:8000", "rf_live_abc_topsecret")
            .unwrap();
        let shown = format!(
            "{client:?} {:?} {:?}",
            client.blocking(),
            client.get_trace("x")
        );
        assert!(shown.contains("localhost:8000"), "{shown}");
        assert!(
            !shown.contains("topsecret") && !shown.contains("rf_live"),
            "{shown}"
        );
    }
}
