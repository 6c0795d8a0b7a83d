use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, value_parser};
use reflect_engine::Engine;
use reflect_engine::store::Sqlite;
use reflect_server::keys::{self, Keys};
use reflect_server::{App, Settings, serve_until};
use reflect_types::KeyStatus;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::failure::Failure;
use super::{models, secret};

/// A master key shorter than this can be guessed.
const SHORT_KEY: usize = 32;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Where to listen; port 0 takes any free one.
    #[arg(long, env = "REFLECT_LISTEN", default_value = "127.0.0.1:8000")]
    listen: String,
    /// The database file; made where there is none.
    #[arg(long, env = "REFLECT_DATA", default_value = "reflect.db")]
    data: PathBuf,
    /// A key that opens every project. Without one, a new database makes one and shows it once.
    #[arg(long, env = "REFLECT_MASTER_KEY", hide_env_values = true, value_parser = secret::parse)]
    master_key: Option<SecretString>,
    /// A file that holds the master key.
    #[arg(long, env = "REFLECT_MASTER_KEY_FILE")]
    master_key_file: Option<PathBuf>,
    /// What opens `/v1/bootstrap`; without it that is closed.
    #[arg(
        long, env = "REFLECT_BOOTSTRAP_TOKEN", hide_env_values = true,
        value_parser = secret::parse
    )]
    bootstrap_token: Option<SecretString>,
    /// A file that holds the bootstrap token.
    #[arg(long, env = "REFLECT_BOOTSTRAP_TOKEN_FILE")]
    bootstrap_token_file: Option<PathBuf>,
    /// The largest request body, in bytes.
    #[arg(
        long, env = "REFLECT_BODY_LIMIT",
        default_value_t = at_least_one(Settings::default().body_limit)
    )]
    body_limit: NonZeroUsize,
    /// How long a request may take, in seconds.
    #[arg(
        long, env = "REFLECT_REQUEST_TIMEOUT", default_value_t = 55,
        value_parser = value_parser!(u64).range(1..)
    )]
    request_timeout: u64,
    /// How many requests are worked on at once.
    #[arg(
        long, env = "REFLECT_MAX_IN_FLIGHT",
        default_value_t = at_least_one(Settings::default().max_in_flight)
    )]
    max_in_flight: NonZeroUsize,
    /// How many requests a second one key may make; no limit unless set.
    #[arg(long, env = "REFLECT_RATE_LIMIT")]
    rate_limit: Option<NonZeroU32>,
    /// How long requests under way get at shutdown, in seconds.
    #[arg(long, env = "REFLECT_SHUTDOWN_GRACE", default_value_t = 30)]
    shutdown_grace: u64,
    /// Hosts under which `/mcp` may be called, separated by commas; `*` for any.
    #[arg(
        long, env = "REFLECT_ALLOWED_HOSTS", value_delimiter = ',',
        default_values_t = Settings::default().allowed_hosts
    )]
    allowed_hosts: Vec<String>,
    /// Web pages that may call `/mcp`, such as `https://app.example.com:443`, separated by commas.
    #[arg(long, env = "REFLECT_ALLOWED_ORIGINS", value_delimiter = ',')]
    allowed_origins: Vec<String>,
    /// How far a review moves the memories when it does not say, from 0 to 1; 0.3 unless this or
    /// `Q_LEARNING_ALPHA` is set.
    #[arg(long, env = "REFLECT_ALPHA")]
    alpha: Option<f64>,
    /// The lowest similarity that counts when a query does not say; the embedder's unless set.
    #[arg(long, env = "REFLECT_SIMILARITY_FLOOR")]
    similarity_floor: Option<f64>,
    /// How many reviews are worked on at once.
    #[arg(
        long, env = "REFLECT_WORKERS",
        default_value_t = at_least_one(reflect_engine::Builder::DEFAULT_CONCURRENCY)
    )]
    workers: NonZeroUsize,
    /// How long the work of a process that died is left alone before another takes it over, in
    /// seconds.
    #[arg(
        long, env = "REFLECT_LEASE", default_value_t = 30,
        value_parser = value_parser!(u64).range(1..)
    )]
    lease: u64,
    #[command(flatten)]
    models: models::ModelOptions,
    #[command(flatten)]
    judge: models::JudgeOptions,
}

pub(super) async fn run(options: Options) -> Result<(), Failure> {
    let bootstrap_token = secret::read(
        "--bootstrap-token",
        options.bootstrap_token,
        options.bootstrap_token_file,
    )?;
    let master = secret::read("--master-key", options.master_key, options.master_key_file)?;
    let settings = Settings {
        body_limit: options.body_limit.get(),
        request_timeout: Duration::from_secs(options.request_timeout),
        max_in_flight: options.max_in_flight.get(),
        rate_limit: options.rate_limit,
        shutdown_grace: Duration::from_secs(options.shutdown_grace),
        bootstrap_token,
        allowed_hosts: if options.allowed_hosts.iter().any(|host| host == "*") {
            Vec::new()
        } else {
            options.allowed_hosts
        },
        allowed_origins: options.allowed_origins,
    };
    let models = options.models.models()?;
    let judge = options.judge.judge(&models)?;
    // Before anything is made: a port that is taken is the commonest mistake.
    let listener = TcpListener::bind(&options.listen).await.map_err(|error| {
        Failure::general(format!(
            "cannot listen on {}: {error}. Choose another --listen address",
            options.listen
        ))
    })?;
    let path = options.data;
    let (store, key_store) = tokio::task::spawn_blocking(move || {
        let store = Sqlite::open(&path)?;
        Ok::<_, reflect_engine::Error>((store, keys::Sqlite::open(path)?))
    })
    .await
    .map_err(|error| Failure::general(error.to_string()))??;
    let mut engine = Engine::builder()
        .store(Arc::new(store))
        .alpha(alpha(options.alpha)?)
        .concurrency(options.workers.get())
        .lease(Duration::from_secs(options.lease));
    if let Some(floor) = options.similarity_floor {
        engine = engine.similarity_floor(floor);
    }
    let engine = models.install(engine).start()?;
    let keys = Keys::new(Arc::new(key_store), master.as_ref());
    let is_new = engine.list_projects().await?.is_empty();
    announce(&keys, master.as_ref(), is_new).await?;
    keys.ensure_projects(&engine).await?;
    let address = listener.local_addr()?;
    // Before anybody can know that it runs, so that no signal finds it unprepared.
    let signals = signals()?;
    // On the standard output, so that scripts that asked for port 0 can read it.
    println!("reflect listens on http://{address}");
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
    if let Some(judge) = judge {
        app = app.judging(judge);
    }
    let asked = |times| {
        let mut signals = signals.clone();
        async move {
            // An error means that nobody listens for signals any more, so none will come.
            if signals.wait_for(|count| *count >= times).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    };
    serve_until(listener, app, asked(1), asked(2)).await;
    for model in [models.llm, models.embeddings].into_iter().flatten() {
        tracing::info!(model = model.model(), usage = %model.usage(), "asked of the model");
    }
    tracing::info!("stopped");
    Ok(())
}

/// A default that is not zero.
fn at_least_one(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
}

/// The setting, or what the variable says that servers of this API know it by.
fn alpha(given: Option<f64>) -> Result<f64, Failure> {
    const KNOWN_AS: &str = "Q_LEARNING_ALPHA";

    match (given, std::env::var(KNOWN_AS)) {
        (Some(alpha), _) => Ok(alpha),
        (None, Ok(text)) => text
            .trim()
            .parse()
            .map_err(|_| Failure::usage(format!("{KNOWN_AS} must be a number, got `{text}`"))),
        (None, Err(_)) => Ok(reflect_types::Review::DEFAULT_ALPHA),
    }
}

async fn has_master(keys: &Keys) -> Result<bool, Failure> {
    let masters = keys.list(None).await?;
    Ok(masters.iter().any(|key| key.status == KeyStatus::Active))
}

/// Shows a master key that was just made, this once. Only a new database gets one: whoever forgot
/// to name theirs must not find another in the log.
async fn announce(
    keys: &Keys,
    configured: Option<&SecretString>,
    is_new: bool,
) -> Result<(), Failure> {
    if let Some(key) = configured
        && key.expose_secret().len() < SHORT_KEY
    {
        tracing::warn!("the master key is short: one of `reflect keys` cannot be guessed");
    }
    if configured.is_none() && !is_new && !has_master(keys).await? {
        tracing::warn!(
            "no master key: start with --master-key, or make one with `reflect keys create --master`"
        );
        return Ok(());
    }
    if let Some(made) = keys.ensure_master().await? {
        println!(
            "This is the master key. It is shown this once, so keep it:\n\n    {}\n",
            made.api_key
        );
    }
    Ok(())
}

/// Counts the signals that ask the process to end, from now on: the first lets what is under way be
/// finished, the second does not.
fn signals() -> Result<watch::Receiver<u32>, Failure> {
    let mut signals = Signals::listen()?;
    let (count, counted) = watch::channel(0);
    tokio::spawn(async move {
        while signals.next().await {
            count.send_modify(|count| *count += 1);
        }
    });
    Ok(counted)
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};

        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next one; false where there can be none.
    async fn next(&mut self) -> bool {
        let came = tokio::select! {
            came = self.interrupt.recv() => came,
            came = self.terminate.recv() => came,
        };
        came.is_some()
    }
}

/// Ctrl-c is all there is.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it may fail")]
    fn listen() -> Result<Self, Failure> {
        Ok(Self)
    }

    /// Waits for the next one; false where there can be none.
    async fn next(&mut self) -> bool {
        tokio::signal::ctrl_c().await.is_ok()
    }
}
