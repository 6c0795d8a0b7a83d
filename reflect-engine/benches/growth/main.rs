//! How the cost of a query grows with the number of memories: its CPU time, alone and among many, the memory of the
//! index, and the time until the first answer.
//!
//! `cargo bench -p reflect-engine --bench growth` measures 1,000 to 100,000 memories, and a million tasks;
//! `… --bench growth -- 1000000 clusters` other sizes and worlds. A million takes some minutes, 5 GB of memory
//! and 3 GB of disk.
//!
//! Three worlds: task texts with the bundled embedder (256 dimensions), vectors around centres (384), and
//! random ones, which nothing can tell apart without reading them all (384). Every query is answered by the
//! engine from a file; answers by the classic rule are compared with the exact ranking of all vectors.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::expect_used,
    reason = "a benchmark of known sizes, which should stop immediately when it is wrong"
)]

use std::time::Duration;

use reflect_engine::Engine;
use reflect_types::{ProjectId, QueryMemories, Ranking};
use rustix::time::{ClockId, clock_gettime};

mod world;

use world::{Kind, World};

const QUERIES: usize = 40;
const CLIENTS: usize = 64;
/// Each takes a scan of all `f64` products.
const COMPARED: usize = 5;

fn main() {
    let all = [Kind::Tasks, Kind::Clusters, Kind::Random];
    let named = |kind: &Kind| std::env::args().any(|arg| arg == kind.name());
    let mut kinds: Vec<_> = all.into_iter().filter(named).collect();
    if kinds.is_empty() {
        kinds = all.to_vec();
    }
    let counts = std::env::args().filter_map(|arg| arg.parse().ok());
    let mut sizes: Vec<(usize, &[Kind])> = counts.map(|count| (count, &kinds[..])).collect();
    if sizes.is_empty() {
        // Cargo passes `--bench` to a benchmark; without it this is a quick test run.
        let measured = std::env::args().any(|arg| arg == "--bench");
        sizes = if measured {
            vec![
                (1_000, &kinds),
                (10_000, &kinds),
                (100_000, &kinds),
                // One of a million takes longer than all the others.
                (1_000_000, &kinds[..1]),
            ]
        } else {
            vec![(500, &kinds)]
        };
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .expect("a runtime");
    println!(
        "{:<10} {:>9} {:>13} {:>13} {:>13} {:>13} {:>13} {:>13}",
        "world",
        "memories",
        "learned, ms",
        "among 64, ms",
        "new run, ms",
        "classic, ms",
        "bytes each",
        "first, s"
    );
    for (count, kinds) in sizes {
        for kind in kinds {
            runtime.block_on(measure(*kind, count));
        }
    }
}

async fn measure(kind: Kind, count: usize) {
    let world = World::new(kind, count);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("reflect.db");
    world.write(&path);
    let each = world.index_bytes() / count;

    let (engine, first) = world.open(&path).await;

    let mut times = [Ranking::Learned, Ranking::Classic].map(|ranking| (ranking, 0.0));
    for (ranking, ms) in &mut times {
        let cpu = cpu_time();
        for n in 0..QUERIES {
            ask(&engine, n, ranking.clone()).await;
        }
        *ms = cpu_time().saturating_sub(cpu).as_secs_f64() * 1e3 / QUERIES as f64;
    }
    let together = together(&engine).await;
    for n in 0..COMPARED {
        let found = ask(&engine, n, Ranking::Classic).await;
        assert_eq!(found, world.exact(n), "an answer is not the exact one");
    }
    let mut db = rusqlite::Connection::open(&path).expect("a connection");
    let mut after_review = 0.0;
    for n in 0..QUERIES {
        world.add(&mut db, count + n);
        let cpu = cpu_time();
        ask(&engine, n, Ranking::Learned).await;
        after_review += cpu_time().saturating_sub(cpu).as_secs_f64() * 1e3 / QUERIES as f64;
    }
    println!(
        "{:<10} {count:>9} {:>13.3} {together:>13.3} {after_review:>13.3} {:>13.3} {each:>13} {:>13.3}",
        kind.name(),
        times[0].1,
        times[1].1,
        first.as_secs_f64(),
    );
    engine.shutdown().await.expect("a clean end");
}

/// The CPU time of a query among many at the same time, in milliseconds.
async fn together(engine: &Engine) -> f64 {
    let cpu = cpu_time();
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        let engine = engine.clone();
        clients.spawn(async move {
            for n in 0..QUERIES {
                ask(&engine, (client + n) % QUERIES, Ranking::Learned).await;
            }
        });
    }
    clients.join_all().await;
    cpu_time().saturating_sub(cpu).as_secs_f64() * 1e3 / (CLIENTS * QUERIES) as f64
}

/// The ids of the answer.
async fn ask(engine: &Engine, probe: usize, ranking: Ranking) -> Vec<String> {
    let query = QueryMemories {
        ranking: Some(ranking),
        ..QueryMemories::new(probe.to_string())
    };
    let found = engine.query_memories(&ProjectId::default(), &query).await;
    let found = found.expect("an answer");
    found.iter().map(|memory| memory.id.to_string()).collect()
}

/// The CPU time of all threads of the process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("a time since the start")
}
