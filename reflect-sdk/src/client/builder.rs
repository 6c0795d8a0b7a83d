use std::env;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reflect_http::SecretString;
use reflect_types::{Arm, CreateTrace, ProjectId, Validate};

use super::ReflectClient;
use super::handle::Handle;
use crate::core::{BeforeSend, Core, Overflow, RetryPolicy, Settings, Worker};
use crate::error::{Error, Result};
use crate::spool::{Destination, Spool, SpoolSettings};
#[cfg(feature = "embedded")]
use crate::transport::Embedded;
use crate::transport::{Http, Timeouts, Transport};

/// Configures a [`ReflectClient`]. The last method names the server or the engine.
///
/// ```
/// use std::time::Duration;
///
/// use reflect_sdk::{ReflectClient, RetryPolicy};
///
/// fn main() -> reflect_sdk::Result<()> {
///     let client = ReflectClient::builder()
///         .project("support")
///         .timeout(Duration::from_secs(10))
///         .retry(RetryPolicy::default().attempts(5))
///         .http("http://localhost:8000", "rf_live_abc123_secret456")?;
///     assert_eq!(client.project().as_str(), "support");
///     Ok(())
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `.http(…)`, `.embedded(…)`, `.transport(…)` or `.env()`"]
pub struct ClientBuilder {
    project: ProjectId,
    timeouts: Timeouts,
    settings: Settings,
    spool: SpoolSettings,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            project: ProjectId::default(),
            timeouts: Timeouts {
                connect: Duration::from_secs(5),
                // A deferred review answers only when its reflection is written.
                request: Duration::from_secs(60),
            },
            settings: Settings::default(),
            spool: SpoolSettings::default(),
        }
    }
}

impl ReflectClient {
    /// Configures a client.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client of the server, project and key in `REFLECT_BASE_URL`, `REFLECT_PROJECT_ID` and
    /// `REFLECT_API_KEY`.
    ///
    /// A variable that is missing or empty is an error that names it.
    pub fn from_env() -> Result<Self> {
        Self::builder().env()
    }

    /// A client that does nothing: runs have no memories and are not recorded, explicit calls are
    /// [`Error::Disabled`](crate::Error::Disabled), and no thread is started.
    pub fn disabled() -> Self {
        Self::with_core(Core::disabled())
    }

    fn with_core(core: Core) -> Self {
        Self {
            handle: Arc::new(Handle::new(core)),
            mode: PhantomData,
        }
    }
}

impl ClientBuilder {
    /// The project of all calls; `default` by default.
    pub fn project(mut self, project: impl Into<ProjectId>) -> Self {
        self.project = project.into();
        self
    }

    /// The time limit of one HTTP request; 60 s by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.request = timeout;
        self
    }

    /// The time limit of a connection attempt; 5 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.connect = timeout;
        self
    }

    /// The time limit of a call with all its attempts; 120 s by default.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.settings.deadline = deadline;
        self
    }

    /// The retries of a call.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.settings.retry = policy;
        self
    }

    /// The time that a run waits for its memories before it starts without them; 5 s by default.
    pub fn retrieval_timeout(mut self, timeout: Duration) -> Self {
        self.settings.retrieval_timeout = timeout;
        self
    }

    /// The share of runs, from 0 to 1, that are given no memories; by default that of
    /// [the project](crate::admin::Admin::set_control), which a client reads at most once a minute.
    ///
    /// These runs are the control arm: a report compares their pass rate with that of the others, and so
    /// tells whether memories help. Which runs they are depends on their
    /// [ids](crate::TraceContext::run_id) alone. A run within another one has the arm of the outer run.
    ///
    /// ```
    /// use reflect_sdk::ReflectClient;
    ///
    /// fn main() -> reflect_sdk::Result<()> {
    ///     let client = ReflectClient::builder()
    ///         .control_share(0.1)
    ///         .http("http://localhost:8000", "rf_live_abc123_secret456")?;
    ///     let refused = ReflectClient::builder().control_share(10.0).http("http://localhost:8000", "rf");
    ///     assert!(refused.unwrap_err().to_string().contains("`control` must be from 0 to 1"));
    ///     Ok(())
    /// }
    /// ```
    pub fn control_share(mut self, share: f64) -> Self {
        self.settings.control_share = Some(share);
        self
    }

    /// The retries of a finished run in the background and their time limit: ten minutes with waits of
    /// up to 30 s by default. `Retry-After` is honoured within the limit; a wait that would exceed it
    /// ends at the limit with a last attempt, which gets ten seconds more.
    ///
    /// Only a run that is itself at fault is refused for good: one that the server calls invalid or too large. All
    /// others are sent again, also after a 401, 403 or 404, or a reply that is none of Reflect's: their idempotency
    /// keys keep them from being stored twice.
    ///
    /// All runs that have failed wait together: one of them is sent after each wait, and the first
    /// success sends the others. While 64 wait no others are begun, and the time of a run begins with
    /// its first attempt. A server that does not answer is asked for memories as seldom: meanwhile runs start
    /// without them, at once.
    pub fn background_retry(mut self, policy: RetryPolicy, deadline: Duration) -> Self {
        self.settings.submit_retry = policy;
        self.settings.submit_deadline = deadline;
        self
    }

    /// Passes every finished run through a function before it is sent, or written to the [spool](Self::spool): it
    /// returns what may leave this process, or `None` to keep the run back. For redacting, dropping and sampling.
    ///
    /// It runs on a thread of the client. One that blocks delays the sending of all runs, and nothing else. A run
    /// with which it panics is dropped, counted as failed and reported, because it may hold what was to be removed.
    /// [Explicit calls](crate::ReflectClient::create_trace) do not pass through it.
    ///
    /// ```
    /// use reflect_sdk::{ReflectClient, TraceOutput};
    ///
    /// fn main() -> reflect_sdk::Result<()> {
    ///     let client = ReflectClient::builder()
    ///         .before_send(|mut trace| {
    ///             trace.task = trace.task.replace("4111 1111 1111 1111", "[card]");
    ///             (trace.model.as_deref() != Some("test")).then_some(trace)
    ///         })
    ///         .http("http://localhost:8000", "rf_live_abc123_secret456")?
    ///         .blocking();
    ///     let run = client.trace("Say hello").no_retrieval().start_blocking();
    ///     run.set_output(TraceOutput::new("Hello!").model("test"));
    ///     drop(run);
    ///     let stats = client.flush(std::time::Duration::from_secs(5));
    ///     assert_eq!((stats.withheld, stats.sent), (1, 0));
    ///     Ok(())
    /// }
    /// ```
    pub fn before_send(
        mut self,
        filter: impl Fn(CreateTrace) -> Option<CreateTrace> + Send + Sync + 'static,
    ) -> Self {
        self.settings.before_send = Some(BeforeSend(Arc::new(filter)));
        self
    }

    /// The share of runs, from 0 to 1, that are recorded; 1 by default. All of them are given memories.
    ///
    /// Which runs they are depends on the [id](crate::TraceContext::run_id) of the outermost run alone: the runs
    /// within a run that is recorded are recorded too.
    pub fn sample(mut self, share: f64) -> Self {
        self.settings.sample = share;
        self
    }

    /// The maximum number of finished runs in the queue, 1,024 by default, and what happens to the
    /// next one; by default it is dropped. Runs that are being sent, wait for
    /// [another attempt](Self::background_retry) or are [on disk](Self::spool) do not count: in memory are at most 127
    /// of them.
    pub fn queue(mut self, capacity: usize, overflow: Overflow) -> Self {
        self.settings.queue = capacity.max(1);
        self.settings.overflow = overflow;
        self
    }

    /// Keeps every finished run in this folder until Reflect has acknowledged it.
    ///
    /// A thread of the client writes it, within milliseconds of the end of the run: from then on it is safe from a
    /// crash, a `kill -9` or a power cut, and no longer [pending](crate::DeliveryStats::pending). The next client
    /// with the same folder, project and server sends what a process leaves behind. Several processes may share the folder. Runs that Reflect permanently refuses are moved to
    /// its folder `rejected`, with the reason.
    pub fn spool(mut self, folder: impl Into<PathBuf>) -> Self {
        self.spool.directory = Some(folder.into());
        self
    }

    /// The maximum size of the [spool](Self::spool) in bytes; 64 MiB by default. When it is full, runs
    /// are kept in memory alone, with a warning.
    pub fn spool_limit(mut self, bytes: u64) -> Self {
        self.spool.limit = Some(bytes);
        self
    }

    /// The time that the last handle of the client, or the end of the process, waits for pending runs: once for the
    /// same runs, 5 s by default. Zero leaves the sending to the background, for as long as the process lives.
    ///
    /// On a thread of a tokio runtime the last handle waits for nothing; the end of the process does. It says on
    /// stderr how many runs it could not send, and why.
    pub fn shutdown_timeout(mut self, timeout: Duration) -> Self {
        self.settings.shutdown_timeout = timeout;
        self
    }

    /// Whether the end of the process, by the end of `main` or by [`exit`](std::process::exit), waits
    /// for pending runs; on by default. It makes a client in a `static` safe, and one that is leaked
    /// or lives on another thread.
    #[cfg(feature = "flush-at-exit")]
    pub fn flush_at_exit(mut self, flush: bool) -> Self {
        self.settings.flush_at_exit = flush;
        self
    }

    /// Whether a panic may end the process. If so, the runs of the panicking code are recorded as
    /// failed, and pending runs are sent, before the panic continues: for up to 2 s. It is on where
    /// panics abort; set it where a hook of your own ends the process.
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
        let http = Http::new(base_url.as_ref(), Some(key), self.timeouts)?;
        self.connect(Arc::new(http), Worker::default())
    }

    /// A client of the server, project and key in `REFLECT_BASE_URL`, `REFLECT_PROJECT_ID` and
    /// `REFLECT_API_KEY`.
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

    /// A client of an engine in this process, with its data in the SQLite file at `path`, which is
    /// created if missing.
    ///
    /// No key, server or download is needed. Several processes may use one file. To a [spool](Self::spool) each path is a server of its own, so
    /// spell the path the same way each time.
    ///
    /// ```
    /// use reflect_sdk::ReflectClient;
    ///
    /// fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let folder = tempfile::tempdir()?;
    ///     let path = folder.path().join("reflect.db");
    ///     let client = ReflectClient::builder().project("support").embedded(path)?;
    ///     assert!(client.blocking().query_memories("Refund order 7").call()?.is_empty());
    ///     Ok(())
    /// }
    /// ```
    #[cfg(feature = "embedded")]
    pub fn embedded(self, path: impl Into<PathBuf>) -> Result<ReflectClient> {
        let path = path.into();
        self.with_engine(async { Embedded::open(path).await })
    }

    /// A client of an engine with settings of your own: another store, embedder or reflection writer.
    ///
    /// To a [spool](Self::spool) all such engines are one server: give each store a folder of its own.
    ///
    /// ```
    /// use reflect_sdk::{ReflectClient, engine::Engine};
    ///
    /// fn main() -> reflect_sdk::Result<()> {
    ///     // In memory, as in a test.
    ///     let client = ReflectClient::builder().embedded_engine(Engine::builder().alpha(0.5))?;
    ///     assert!(client.blocking().health().call().is_ok());
    ///     Ok(())
    /// }
    /// ```
    #[cfg(feature = "embedded")]
    pub fn embedded_engine(self, settings: reflect_engine::Builder) -> Result<ReflectClient> {
        self.with_engine(async { Embedded::start(settings) })
    }

    /// Starts the engine on the I/O thread, where it lives, so that an unusable file is an error here
    /// and not in the first call.
    #[cfg(feature = "embedded")]
    fn with_engine(
        self,
        start: impl Future<Output = Result<Embedded>> + Send + 'static,
    ) -> Result<ReflectClient> {
        let worker = Worker::default();
        let embedded = worker.wait(start, self.settings.deadline)?;
        self.connect(Arc::new(embedded), worker)
    }

    /// Needs the feature `embedded`.
    ///
    /// ```compile_fail,E0277
    /// let client = reflect_sdk::ReflectClient::builder().embedded("reflect.db");
    /// ```
    #[cfg(not(feature = "embedded"))]
    pub fn embedded<P: EmbeddedFeature>(self, _path: P) -> Result<ReflectClient> {
        Err(Error::Config("needs the feature `embedded`".to_owned()))
    }

    /// A client of a transport of your own.
    pub fn transport(self, transport: Arc<dyn Transport>) -> Result<ReflectClient> {
        self.connect(transport, Worker::default())
    }

    fn connect(self, transport: Arc<dyn Transport>, worker: Worker) -> Result<ReflectClient> {
        self.project.validate()?;
        self.settings
            .control_share
            .map_or(Ok(()), Arm::check_share)?;
        let sample = self.settings.sample;
        if !(0.0..=1.0).contains(&sample) {
            let problem = format!("`sample` must be a share from 0 to 1, got {sample}");
            return Err(Error::Config(problem));
        }
        let client = ReflectClient::with_core(self.core(transport, worker)?);
        client.handle().outbox().send_left_overs();
        Ok(client)
    }

    pub(super) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    pub(super) fn core(self, transport: Arc<dyn Transport>, worker: Worker) -> Result<Core> {
        let to = Destination {
            server: transport.server(),
            project: self.project.clone(),
        };
        let spool = Spool::open(self.spool, to)?;
        Ok(Core::new(
            self.project,
            self.settings,
            Some(transport),
            worker,
            spool,
        ))
    }
}

/// Implemented by nothing: its error message names the missing feature.
#[cfg(not(feature = "embedded"))]
#[diagnostic::on_unimplemented(
    message = "`ClientBuilder::embedded` needs the feature `embedded` of reflect-sdk",
    label = "the feature `embedded` is not enabled",
    note = "add it in Cargo.toml: reflect-sdk = {{ version = \"…\", features = [\"embedded\"] }}"
)]
pub trait EmbeddedFeature {}

#[cfg(test)]
mod tests;
