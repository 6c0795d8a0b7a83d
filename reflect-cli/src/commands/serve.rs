use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, value_parser};
use reflect_engine::Builder;
use reflect_server::keys::{self, Keys};
use reflect_server::{App, CountedJudge, IpNet, Settings, Tls, serve_until};
use reflect_types::Ranking;
use secrecy::SecretString;
use tokio::net::TcpListener;

use crate::command_line::{hint, quoted};
use crate::data::{Connections, Data, DataParser};
use crate::failure::Failure;
use crate::signals::Signalled;
use crate::{models, output, permissions, secret};

const MEGABYTE: usize = 1024 * 1024;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The address to listen on; port 0 picks a free port.
    #[arg(long, env = "REFLECT_LISTEN", default_value = "127.0.0.1:8000")]
    listen: String,
    /// The database: a file, created if missing, or a PostgreSQL address such as
    /// `postgres://user:password@host/database`, which any number of servers may share.
    #[arg(
        long, visible_alias = "database-url", env = "REFLECT_DATA", hide_env_values = true,
        value_parser = DataParser, default_value = "reflect.db"
    )]
    data: Data,
    #[command(flatten)]
    connections: Connections,
    /// A key that opens every project, such as one of `reflect keys generate`. Without it, the first
    /// start on a database creates one and shows it once.
    #[arg(long, env = "REFLECT_MASTER_KEY", hide_env_values = true, value_parser = secret::parse)]
    master_key: Option<SecretString>,
    /// A file containing the master key.
    #[arg(long, env = "REFLECT_MASTER_KEY_FILE")]
    master_key_file: Option<PathBuf>,
    /// The token that enables `/v1/bootstrap`, such as one of `reflect keys generate`.
    #[arg(
        long, env = "REFLECT_BOOTSTRAP_TOKEN", hide_env_values = true,
        value_parser = secret::parse
    )]
    bootstrap_token: Option<SecretString>,
    /// A file containing the bootstrap token.
    #[arg(long, env = "REFLECT_BOOTSTRAP_TOKEN_FILE")]
    bootstrap_token_file: Option<PathBuf>,
    /// The certificate chain to serve HTTPS with, a PEM file. Renewed files are loaded within a minute.
    #[arg(long, env = "REFLECT_TLS_CERT")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, a PEM file.
    #[arg(long, env = "REFLECT_TLS_KEY")]
    tls_key: Option<PathBuf>,
    /// The network of a proxy whose `X-Forwarded-For` or `Forwarded` header names the client, such as
    /// `10.0.0.0/8`; may be repeated.
    #[arg(
        long, env = "REFLECT_TRUSTED_PROXY", value_delimiter = ',', value_parser = network
    )]
    trusted_proxy: Vec<IpNet>,
    /// Maximum request body, in bytes. All bodies in memory together are limited to 16 times as many.
    #[arg(
        long, env = "REFLECT_BODY_LIMIT",
        default_value_t = at_least_one(Settings::default().body_limit)
    )]
    body_limit: NonZeroUsize,
    /// Request timeout, in seconds.
    #[arg(
        long, env = "REFLECT_REQUEST_TIMEOUT", default_value_t = 55,
        value_parser = value_parser!(u64).range(1..)
    )]
    request_timeout: u64,
    /// Maximum concurrent requests.
    #[arg(
        long, env = "REFLECT_MAX_IN_FLIGHT",
        default_value_t = at_least_one(Settings::default().max_in_flight)
    )]
    max_in_flight: NonZeroUsize,
    /// Maximum open connections, within the limit of open files (`ulimit -n`). A new one
    /// beyond it replaces the connection that has been idle longest, or is refused.
    #[arg(
        long, env = "REFLECT_MAX_CONNECTIONS",
        default_value_t = at_least_one(Settings::default().max_connections)
    )]
    max_connections: NonZeroUsize,
    /// Maximum open connections of an IPv4 address or IPv6 /64, except from a --trusted-proxy.
    #[arg(
        long, env = "REFLECT_MAX_CONNECTIONS_PER_ADDRESS",
        default_value_t = at_least_one(Settings::default().max_connections_per_address)
    )]
    max_connections_per_address: NonZeroUsize,
    /// Maximum requests per second and key (default: unlimited).
    #[arg(long, env = "REFLECT_RATE_LIMIT")]
    rate_limit: Option<NonZeroU32>,
    /// Time for open requests to finish at shutdown, in seconds.
    #[arg(long, env = "REFLECT_SHUTDOWN_GRACE", default_value_t = 30)]
    shutdown_grace: u64,
    /// `Host` headers that `/mcp` accepts, comma-separated; `*` for any.
    #[arg(
        long, env = "REFLECT_ALLOWED_HOSTS", value_delimiter = ',',
        default_values_t = Settings::default().allowed_hosts
    )]
    allowed_hosts: Vec<String>,
    /// Origins of web pages that may call `/mcp`, such as `https://app.example.com:443`,
    /// comma-separated.
    #[arg(long, env = "REFLECT_ALLOWED_ORIGINS", value_delimiter = ',')]
    allowed_origins: Vec<String>,
    /// Accept a review that comes with its trace from keys that may record traces but lack the scope
    /// `review:write`.
    #[arg(long, env = "REFLECT_LENIENT_INLINE_REVIEWS")]
    lenient_inline_reviews: bool,
    #[command(flatten)]
    engine: EngineOptions,
    #[command(flatten)]
    models: models::ModelOptions,
    #[command(flatten)]
    judge: models::JudgeOptions,
}

/// How the engine learns and ranks, and what it takes of the machine.
#[derive(Debug, Args)]
struct EngineOptions {
    /// Default learning rate of a review, from 0 to 1 (default: `Q_LEARNING_ALPHA`, or 0.3).
    #[arg(long, env = "REFLECT_ALPHA")]
    alpha: Option<f64>,
    /// Default similarity threshold of a query (default: the embedder's, below which a memory is only given if reviews
    /// show that it helps whatever the task).
    #[arg(long, env = "REFLECT_SIMILARITY_FLOOR")]
    similarity_floor: Option<f64>,
    /// Default ranking of a query: `learned` from reviews, or `classic`, by similarity and utility.
    #[arg(long, env = "REFLECT_RANKING", value_parser = Ranking::parse_known, default_value_t = Ranking::Learned)]
    ranking: Ranking,
    /// Reviews processed concurrently (default: 8 with a model, 256 without).
    #[arg(long, env = "REFLECT_WORKERS")]
    workers: Option<NonZeroUsize>,
    /// Time after which the jobs of a crashed process are taken over, in seconds.
    #[arg(
        long, env = "REFLECT_LEASE", default_value_t = 30,
        value_parser = value_parser!(u64).range(1..)
    )]
    lease: u64,
    /// Time after the last span of an OpenTelemetry trace until its runs are recorded without its root, in
    /// seconds; a trace with its root is waited for 5 seconds at most.
    #[arg(
        long, env = "REFLECT_OTLP_QUIET",
        default_value_t = Builder::DEFAULT_SPAN_QUIET.as_secs(),
        value_parser = value_parser!(u64).range(1..=86_400)
    )]
    otlp_quiet: u64,
    /// Memory for what queries read and what was learned of all projects, in MB. The projects that were queried longest
    /// ago make room for others.
    #[arg(
        long, env = "REFLECT_INDEX_MEMORY", value_name = "MB",
        default_value_t = Builder::DEFAULT_INDEX_ROOM / MEGABYTE
    )]
    index_memory: usize,
}

pub(crate) async fn run(mut options: Options) -> Result<(), Failure> {
    let bootstrap_token = secret::read_strong(
        "--bootstrap-token",
        options.bootstrap_token.take(),
        options.bootstrap_token_file.take(),
    )?;
    let master = secret::read_strong(
        "--master-key",
        options.master_key.take(),
        options.master_key_file.take(),
    )?;
    let tls = tls(options.tls_cert.take(), options.tls_key.take()).await?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let settings = options.settings(bootstrap_token, tls);
    let models = options.models.models()?;
    let judge = options.judge.judge(&models)?.map(CountedJudge::new);
    // Before the file is created: a port in use is the most common mistake.
    let listener = TcpListener::bind(&options.listen).await.map_err(|error| {
        Failure::general(format!(
            "cannot listen on {}: {error}: choose another --listen address",
            options.listen
        ))
    })?;
    warn_if_readable(&listener, &settings);
    let opened = options.data.open(options.connections).await?;
    options.data.warn_if_shared();
    let key_store = opened.keys().await?;
    // A database from an import or an embedded engine has projects, and no server has used it.
    let is_new = key_store.is_new() || opened.store().projects().await?.is_empty();
    let keys = Keys::new(key_store, master.as_ref());
    let mut engine = options
        .engine
        .set(opened.engine().key_limits(Arc::new(keys.clone())))?;
    if let Some(judge) = &judge {
        engine = engine.judge(Arc::new(judge.clone()));
    }
    let address = listener.local_addr()?;
    // Before the address is printed: a client that knows it may send a signal.
    let signals = Signalled::listen()?;
    // From here on, an error has to shut it down. Before the keys: a setting that it refuses must not leave a master
    // key behind that is shown only once.
    let engine = models.install(engine).start()?;
    let ready = async {
        if master.is_none() {
            ensure_master_key(&keys, is_new, &options.data).await?;
        }
        keys.ensure_projects(&engine).await.map_err(Failure::from)
    };
    if let Err(failure) = ready.await {
        engine.shutdown().await?;
        return Err(failure);
    }
    // On standard output, so that scripts can read the chosen port. The log has it too.
    if output::say(format_args!("reflect listens on {scheme}://{address}")).is_err() {
        tracing::warn!("standard output is closed");
    }
    tracing::info!(%address, version = env!("CARGO_PKG_VERSION"), "listening");
    let mut app = App::new(engine, keys, settings);
    for (name, model) in [("llm", &models.llm), ("embeddings", &models.embeddings)] {
        if let Some(model) = model {
            tracing::info!(
                purpose = name,
                model = model.model(),
                url = model.base_url(),
                "model"
            );
            app = app.watching(name, model.clone());
        }
    }
    if let Some(judge) = &judge {
        app = app.judging(judge);
    }
    serve_until(listener, app, signals.times(1), signals.times(2)).await;
    for model in [models.llm, models.embeddings].into_iter().flatten() {
        tracing::info!(model = model.model(), usage = %model.usage(), "model usage");
    }
    tracing::info!("stopped");
    Ok(())
}

impl Options {
    /// The settings of the server.
    fn settings(&self, bootstrap_token: Option<SecretString>, tls: Option<Tls>) -> Settings {
        Settings {
            body_limit: self.body_limit.get(),
            request_timeout: Duration::from_secs(self.request_timeout),
            max_in_flight: self.max_in_flight.get(),
            max_connections: self.max_connections.get(),
            max_connections_per_address: self.max_connections_per_address.get(),
            rate_limit: self.rate_limit,
            shutdown_grace: Duration::from_secs(self.shutdown_grace),
            bootstrap_token,
            trusted_proxies: self.trusted_proxy.clone(),
            tls,
            allowed_hosts: if self.allowed_hosts.iter().any(|host| host == "*") {
                Vec::new()
            } else {
                self.allowed_hosts.clone()
            },
            allowed_origins: self.allowed_origins.clone(),
            lenient_inline_reviews: self.lenient_inline_reviews,
        }
    }
}

impl EngineOptions {
    fn set(self, engine: Builder) -> Result<Builder, Failure> {
        let mut engine = engine
            .alpha(alpha(self.alpha)?)
            .ranking(self.ranking)
            .index_room(self.index_memory.saturating_mul(MEGABYTE))
            .lease(Duration::from_secs(self.lease))
            .span_quiet(Duration::from_secs(self.otlp_quiet));
        if let Some(workers) = self.workers {
            engine = engine.concurrency(workers.get());
        }
        if let Some(floor) = self.similarity_floor {
            engine = engine.similarity_floor(floor);
        }
        Ok(engine)
    }
}

/// A non-zero default.
fn at_least_one(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
}

/// The learning rate of the flag, or of the variable that other servers of this API read.
fn alpha(given: Option<f64>) -> Result<f64, Failure> {
    const VARIABLE: &str = "Q_LEARNING_ALPHA";

    match (given, std::env::var(VARIABLE)) {
        (Some(alpha), _) => Ok(alpha),
        (None, Ok(text)) => text
            .trim()
            .parse()
            .map_err(|_| Failure::usage(format!("{VARIABLE} must be a number, got `{text}`"))),
        (None, Err(_)) => Ok(reflect_types::Review::DEFAULT_ALPHA),
    }
}

/// Warns that keys can be read on the way. A server behind a proxy that ends TLS has trusted proxies.
fn warn_if_readable(listener: &TcpListener, settings: &Settings) {
    let elsewhere = listener.local_addr().is_ok_and(|at| !at.ip().is_loopback());
    if elsewhere && settings.tls.is_none() && settings.trusted_proxies.is_empty() {
        tracing::warn!(
            "keys and runs travel unencrypted: give --tls-cert and --tls-key, or listen on 127.0.0.1 \
             behind a proxy with TLS and name it with --trusted-proxy"
        );
    }
}

/// The certificate of the flags.
async fn tls(certificate: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<Tls>, Failure> {
    let (certificate, key) = match (certificate, key) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        (Some(_), None) => {
            return Err(Failure::usage(
                "--tls-cert needs --tls-key (REFLECT_TLS_KEY)",
            ));
        }
        (None, Some(_)) => {
            return Err(Failure::usage(
                "--tls-key needs --tls-cert (REFLECT_TLS_CERT)",
            ));
        }
    };
    permissions::warn_if_shared("the private key", &key);
    let loaded = tokio::task::spawn_blocking(|| Tls::load(certificate, key)).await;
    let loaded = loaded.map_err(|error| Failure::general(format!("TLS cannot start: {error}")))?;
    let tls = loaded.map_err(|error| Failure::usage(format!("--tls-cert, --tls-key: {error}")))?;
    Ok(Some(tls))
}

/// A network, or a single address.
fn network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<std::net::IpAddr>().map(IpNet::from);
    text.parse()
        .or_else(|_| address())
        .map_err(|_| "expected an address or a network, such as `10.0.0.0/8`".to_owned())
}

/// Creates a master key on a new database and prints it, once; a key that cannot be printed is
/// revoked. A server that was started without its usual `--master-key` must not put another one into its log.
async fn ensure_master_key(keys: &Keys, is_new: bool, data: &Data) -> Result<(), Failure> {
    if is_new {
        if let Some(created) = keys.ensure_master().await? {
            let shown = output::say(format_args!(
                "This is the master key. It is shown only once, so keep it:\n\n    {}\n",
                created.api_key
            ));
            if shown.is_err() {
                keys.revoke(None, &created.key.id).await?;
                return Err(Failure::general(
                    "cannot show the master key, because standard output is closed: it is revoked. \
                     Start again with an open output, or with --master-key",
                ));
            }
        }
        return Ok(());
    }
    let masters = keys.list(None).await?;
    if !masters.iter().any(keys::is_valid) {
        tracing::warn!(
            "no master key: start with --master-key, or create one with `{}`",
            hint(&format!(
                "keys create LABEL --master --data {}",
                quoted(&data.to_string())
            ))
        );
    }
    Ok(())
}
