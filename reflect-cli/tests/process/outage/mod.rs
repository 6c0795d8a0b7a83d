//! Servers and their database are killed under load.

mod cluster;
mod load;

use std::path::Path;
use std::time::{Duration, Instant};

use reflect_engine::Engine;
use reflect_engine::store::{Postgres, Store as _, assert_consistent, scratch_database};
use reflect_types::{IngestStatus, ListMemories, ListTraces, MemoryHistory, ProjectId, Trace};
use tokio::runtime::Runtime;

use self::cluster::Cluster;
use self::load::Load;
use super::support::{KEY, Server};

/// Three servers on one database, writers on all of them; a server is killed, the database is stopped
/// for a while, and killed. `OUTAGE_ROUNDS` says how often (`cargo xtask outage`).
#[test]
#[ignore = "needs a PostgreSQL that it may kill: cargo xtask test postgres"]
fn outage_loses_nothing_acknowledged_and_counts_nothing_twice() {
    let rounds = std::env::var("OUTAGE_ROUNDS").ok();
    let (rounds, away, writers) = match rounds.map(|rounds| rounds.parse().unwrap()) {
        Some(rounds) => (rounds, cluster::LONG, 64),
        None => (1, cluster::SHORT, 8),
    };
    let cluster = Cluster::of_variable();
    let runtime = Runtime::new().unwrap();
    let address = runtime.block_on(scratch_database("outage"));
    let mut servers: Vec<Server> = (0..3).map(|_| server(&address)).collect();
    let load = Load::start(&servers, writers);
    for round in 0..rounds {
        load.make_progress();
        servers[round % 3].kill();
        load.make_progress();
        servers[round % 3] = server(&address);
        load.replace(round % 3, &servers[round % 3]);

        cluster.stop();
        let refused = servers[(round + 1) % 3].client(KEY);
        let refused = refused
            .blocking()
            .list_traces()
            .limit(1)
            .call()
            .unwrap_err();
        assert_eq!(refused.status(), Some(503), "{refused}");
        assert!(refused.retry_after().is_some(), "{refused}");
        std::thread::sleep(away);
        cluster.start();
        load.make_progress();

        cluster.crash();
        cluster.start();
        load.make_progress();
    }
    let acknowledged = load.stop();
    let (traces, memories) = runtime.block_on(settled(&address));
    assert_eq!(traces.len(), acknowledged.len(), "a run is stored twice");
    for trace in &traces {
        assert!(
            acknowledged.contains(&trace.id),
            "{} is stored twice",
            trace.id
        );
    }
    let moves = assert_consistent(&traces, &memories);
    assert!(moves > 20, "too little happened to prove anything");
    for server in servers {
        server.terminate();
        assert!(server.ended().success());
    }
    println!(
        "{rounds} rounds: {} runs, {moves} moves of utilities",
        traces.len()
    );
}

/// A server that takes over the jobs of another within seconds.
fn server(address: &str) -> Server {
    Server::start(Path::new(address), &["--master-key", KEY, "--lease", "2"])
}

/// All runs and memories, once no job waits.
async fn settled(address: &str) -> (Vec<Trace>, Vec<MemoryHistory>) {
    let project = ProjectId::from("support");
    let store = std::sync::Arc::new(Postgres::connect_with(address, 2).await.unwrap());
    let limit = Instant::now() + LIMIT;
    while store.stats(&project).await.unwrap().queued > 0 {
        assert!(Instant::now() < limit, "jobs are left");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let engine = Engine::builder()
        .clock(std::sync::Arc::new(store.clock()))
        .store(store)
        .start()
        .unwrap();
    let mut traces: Vec<Trace> = Vec::new();
    loop {
        let list = ListTraces {
            limit: Some(ListTraces::MAX_LIMIT),
            before: traces.last().map(|trace| trace.id.clone()),
            ..ListTraces::default()
        };
        let page = engine.list_traces(&project, &list).await.unwrap();
        let is_last = page.cursor().is_none();
        traces.extend(page);
        if is_last {
            break;
        }
    }
    for trace in &traces {
        assert_eq!(trace.ingest_status, IngestStatus::Completed, "{trace:?}");
    }
    let mut memories: Vec<MemoryHistory> = Vec::new();
    loop {
        let list = ListMemories {
            limit: Some(ListMemories::MAX_LIMIT),
            before: memories.last().map(|history| history.memory.id.clone()),
            ..ListMemories::default()
        };
        let page = engine.list_memories(&project, &list).await.unwrap();
        let is_last = page.cursor().is_none();
        memories.extend(page);
        if is_last {
            break;
        }
    }
    engine.shutdown().await.unwrap();
    (traces, memories)
}

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

/// Waits until something is there.
#[track_caller]
pub(crate) fn eventually<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let limit = Instant::now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < limit, "it did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}
