//! A server with a filled bank in memory, to look at.

use std::io::Read as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use clap::Args;
use flate2::read::GzDecoder;
use jiff::{SignedDuration, Timestamp};
use reflect_engine::Engine;
use reflect_engine::clock::{Clock, System};
use reflect_server::keys::{KeyStore, Keys};
use reflect_server::{App, Settings, serve_until};
use reflect_types::{
    Arm, CreateApiKey, CreateTrace, ListMemories, ProjectId, QueryMemories, Review, Scope,
};
use tokio::net::TcpListener;

use super::many_runs;
use crate::failure::Failure;
use crate::output;
use crate::runs::{Format, parse};
use crate::signals::Signalled;

/// The runs: see `demo/README.md`. Compressed, they take a fifth of the room in the program.
const RUNS: &[u8] = include_bytes!("../../demo/tau-bench.json.gz");
/// The project.
const PROJECT: &str = "airline";
/// The share of runs that wait for your review.
const WAITING: usize = 3;
/// Of those, every so many-th run has the verdict of a judge: the reward that the runs come with.
const JUDGED: usize = 3;
const JUDGE: &str = "tau-bench reward";
/// Every so many-th run is of the control arm.
const CONTROL: usize = 5;
/// The seconds from one run to the next.
const APART: i64 = 16 * 3_600;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The address to listen on; port 0 picks a free port.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Do not open a browser.
    #[arg(long)]
    no_open: bool,
    /// Store this many further runs first, such as 100000, to see the console with a large bank.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    traces: u64,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let listener = TcpListener::bind(options.listen).await.map_err(|error| {
        Failure::general(format!("cannot listen on {}: {error}", options.listen))
    })?;
    // Everything is in memory, so that nothing is left behind.
    let keys = Keys::new(KeyStore::in_memory().await?, None);
    let clock = Past::default();
    let engine = Engine::builder()
        .clock(Arc::new(clock.clone()))
        .key_limits(Arc::new(keys.clone()))
        .start()?;
    let project = ProjectId::from(PROJECT);
    let create = CreateApiKey {
        scopes: Scope::KNOWN.to_vec(),
        ..CreateApiKey::new("demo")
    };
    let key = keys.create(&engine, &project, create).await?;
    output::say(format_args!(
        "Filling a bank in memory with runs of tau-bench…"
    ))?;
    let acting = engine.acting_for(key.key.id.clone());
    fill(&acting, &project, &clock).await?;
    if options.traces > 0 {
        output::say(format_args!("… and with {} more", options.traces))?;
        add(&engine, &project, options.traces).await?;
    }
    // Before the address is printed: who knows it may send a signal.
    let signals = Signalled::listen()?;
    let address = listener.local_addr()?;
    let app = App::new(engine, keys, Settings::default());
    let link = app.sign_in_link(&key.key.public_id)?;
    let link = format!("http://{address}{link}");
    output::say(format_args!(
        "\nThe console, for one browser and once:\n\n    {link}\n\nIts API key: {}\nCtrl-C ends it and leaves \
         nothing behind.",
        key.api_key
    ))?;
    if !options.no_open {
        open(&link);
    }
    serve_until(listener, app, signals.times(1), signals.times(2)).await;
    Ok(())
}

/// A clock that is behind.
#[derive(Clone, Debug, Default)]
struct Past {
    /// By how many seconds.
    behind: Arc<AtomicI64>,
}

#[async_trait]
impl Clock for Past {
    fn now(&self) -> Timestamp {
        let behind = SignedDuration::from_secs(self.behind.load(Ordering::Relaxed));
        System
            .now()
            .checked_sub(behind)
            .unwrap_or(Timestamp::UNIX_EPOCH)
    }

    async fn sleep_until(&self, time: Timestamp) {
        let left = std::time::Duration::try_from(time.duration_since(self.now()));
        tokio::time::sleep(left.unwrap_or_default()).await;
    }
}

fn runs() -> Result<Vec<CreateTrace>, Failure> {
    let mut text = String::new();
    GzDecoder::new(RUNS).read_to_string(&mut text)?;
    let runs = parse(Format::TauBench, &text).map_err(Failure::general)?;
    let traces = runs.into_iter().map(|run| run.trace.map(|trace| *trace));
    traces.collect::<Result<_, _>>().map_err(Failure::general)
}

/// Lives through the runs as if they had come over some weeks: each is given what the ones before have
/// taught, unless it is of the control arm, and is reviewed by its reward; the last ones wait for a review.
async fn fill(engine: &Engine, project: &ProjectId, clock: &Past) -> Result<(), Failure> {
    let runs = runs()?;
    let reviewed = runs.len() - runs.len() / WAITING;
    let mut age: i64 = runs.iter().map(|_| APART).sum();
    for (number, mut trace) in runs.into_iter().enumerate() {
        age -= APART;
        clock.behind.store(age, Ordering::Relaxed);
        let is_control = number % CONTROL == CONTROL - 1;
        trace.arm = Some(if is_control {
            Arm::Control
        } else {
            Arm::Memories
        });
        let query = QueryMemories {
            limit: 3,
            ..QueryMemories::new(&trace.task)
        };
        if !is_control {
            let given = engine.query_memories(project, &query).await?;
            trace.retrieved_memory_ids = given.into_iter().map(|memory| memory.id).collect();
        }
        trace.model = Some("gpt-4o".to_owned());
        let review: Option<Review> = trace.review.take();
        let stored = engine.create_trace(project, trace).await?;
        let is_judged = number.is_multiple_of(JUDGED);
        let review = match review {
            Some(review) if number < reviewed => review,
            Some(review) if is_judged => review.judged_by(JUDGE),
            _ => continue,
        };
        engine
            .review_trace(project, &stored.trace_id, review)
            .await?;
    }
    clock.behind.store(0, Ordering::Relaxed);
    Ok(())
}

/// Adds the beginnings of the runs, many times over.
async fn add(engine: &Engine, project: &ProjectId, count: u64) -> Result<(), Failure> {
    let memories = engine
        .list_memories(project, &ListMemories::default())
        .await?;
    let memories: Vec<_> = memories
        .items
        .into_iter()
        .map(|one| one.memory.id)
        .collect();
    many_runs::store(engine, project, &runs()?, &memories, count).await
}

/// Opens the link where there is a desktop. Without one, the link is printed all the same.
fn open(link: &str) {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    let (program, arguments) = match std::env::consts::OS {
        "macos" => ("open", vec![link]),
        "windows" => ("cmd", vec!["/C", "start", "", link]),
        _ if has_display => ("xdg-open", vec![link]),
        _ => return,
    };
    // A browser that cannot be opened is no failure of the demo.
    let _ = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
}

#[cfg(test)]
mod tests {
    use reflect_types::Verdict;

    use super::*;

    #[test]
    fn the_runs_are_read_with_their_verdicts() {
        let runs = runs().unwrap();
        assert_eq!(runs.len(), 40);
        let verdicts = runs.iter().map(|run| run.review.as_ref().unwrap().result);
        let passed = verdicts.filter(|verdict| *verdict == Verdict::Pass).count();
        assert!((10..30).contains(&passed), "{passed}");
    }
}
