use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reflect_types::{ProjectId, Validate};
use secrecy::SecretString;

use super::{Core, ReflectClient, Settings};
use crate::error::{Error, Result};
#[cfg(feature = "embedded")]
use crate::transport::Embedded;
use crate::transport::{Http, HttpOptions, Transport};
use crate::worker::outbox::Overflow;
use crate::worker::retry::RetryPolicy;
use crate::worker::spool::{Destination, Spool, SpoolSettings};

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
    settings: Settings,
    spool: SpoolSettings,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            project: ProjectId::default(),
            connect_timeout: Duration::from_secs(5),
            // A deferred review answers only when its reflection is written.
            timeout: Duration::from_secs(60),
            settings: Settings::default(),
            spool: SpoolSettings::default(),
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
        self.settings.deadline = deadline;
        self
    }

    /// How often a call is tried, and how long is waited in between.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.settings.retry = policy;
        self
    }

    /// How long a run waits for its memories before it starts without them: 5 s unless set.
    pub fn retrieval_timeout(mut self, timeout: Duration) -> Self {
        self.settings.retrieval_timeout = timeout;
        self
    }

    /// How often a finished run is sent in the background, and for how long in all: for ten
    /// minutes with waits of up to 30 s unless set. `Retry-After` is honoured within that time; where
    /// it goes beyond, the last attempt is made when the time is up, and gets ten seconds more.
    ///
    /// While 64 runs wait to be sent again no others are begun, and the time of those that wait for
    /// their turn has not begun either.
    pub fn background_retry(mut self, policy: RetryPolicy, deadline: Duration) -> Self {
        self.settings.submit_retry = policy;
        self.settings.submit_deadline = deadline;
        self
    }

    /// How many finished runs may wait to be sent: 1,024 unless set. `overflow` says what happens
    /// to the next one; with a [spool](Self::spool) it is kept on disk instead. Runs that are being
    /// sent, or wait to be sent [again](Self::background_retry), do not count: there are at most 71.
    pub fn queue(mut self, capacity: usize, overflow: Overflow) -> Self {
        self.settings.queue = capacity.max(1);
        self.settings.overflow = overflow;
        self
    }

    /// Keeps every finished run in this folder until Reflect has acknowledged it.
    ///
    /// A run is on disk, safe from a crash, a `kill -9` or a power cut, before the drop of its guard
    /// returns; what a process leaves behind is sent by the next client with the same folder,
    /// project and server. Several processes may share the folder. Runs that Reflect refuses for
    /// good are put into its folder `rejected`, with the reason.
    ///
    /// ```no_run
    /// # use reflect_sdk::ReflectClient;
    /// let client = ReflectClient::builder().spool("/var/lib/my-agent/reflect").env()?;
    /// # Ok::<(), reflect_sdk::Error>(())
    /// ```
    pub fn spool(mut self, folder: impl Into<PathBuf>) -> Self {
        self.spool.directory = Some(folder.into());
        self
    }

    /// How many bytes the [spool](Self::spool) may hold: 64 MiB unless set. When it is full, runs
    /// are kept in memory alone, with a warning.
    pub fn spool_limit(mut self, bytes: u64) -> Self {
        self.spool.limit = Some(bytes);
        self
    }

    /// How long the last handle of the client, when it is dropped, waits for runs that are still to
    /// be sent: 5 s unless set, and not at all where nothing is pending. Zero leaves the sending to
    /// the background, for as long as the process lives.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.settings.shutdown_timeout = timeout;
        self
    }

    /// Whether a panic may be the end of the process. If so, the runs that the panicking code belongs
    /// to are recorded as failed, and what is pending is sent, before the panic goes on: for up to
    /// 2 s. It is on where panics abort; set it where a hook of your own ends the process.
    #[cfg(feature = "panic-hook")]
    pub fn flush_on_panic(mut self, flush: bool) -> Self {
        self.settings.flush_on_panic = flush;
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
    /// No key, server or download is needed. Several processes may use one file. To a
    /// [spool](Self::spool) each path is a server of its own, so name the file the same way each time.
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
        self.with_engine(Embedded::file(path.into()))
    }

    /// A client of an engine of your own making: another store, embedder or reflection writer.
    ///
    /// To a [spool](Self::spool) all such engines are one server: where they have different stores,
    /// give each a folder of its own.
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
        self.with_engine(Embedded::engine(settings))
    }

    /// Starts the engine on the client's own thread, where it will live, so that a file that
    /// cannot be used is told of here and not by the first call.
    #[cfg(feature = "embedded")]
    fn with_engine(self, embedded: Embedded) -> Result<ReflectClient> {
        let embedded = Arc::new(embedded);
        let client = self.idle(Arc::clone(&embedded) as _)?;
        let core = client.core();
        let opened = async move { embedded.open().await };
        core.worker().wait(opened, core.settings.deadline)?;
        core.send_left_overs();
        Ok(client)
    }

    /// A client of a transport of your own.
    pub fn transport(self, transport: Arc<dyn Transport>) -> Result<ReflectClient> {
        let client = self.idle(transport)?;
        client.core().send_left_overs();
        Ok(client)
    }

    /// A client that has not begun to send what an earlier one left behind.
    fn idle(self, transport: Arc<dyn Transport>) -> Result<ReflectClient> {
        self.project.validate()?;
        Ok(ReflectClient::with_core(self.core(transport)?))
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

    pub(super) fn core(self, transport: Arc<dyn Transport>) -> Result<Core> {
        let to = Destination {
            server: transport.server(),
            project: self.project.clone(),
        };
        let spool = Spool::open(self.spool, to)?;
        Ok(Core::new(self.project, self.settings, transport, spool))
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
