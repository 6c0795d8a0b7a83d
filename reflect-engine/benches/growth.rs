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

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use reflect_engine::Engine;
use reflect_engine::index::Index;
use reflect_engine::model::{self, Embedder, StaticEmbedder};
use reflect_engine::rank::{Candidate, Floor, Merit, Params, Rule, rank};
use reflect_engine::store::Sqlite;
use reflect_types::{Metadata, ProjectId, QueryMemories, Ranking};
use rustix::time::{ClockId, clock_gettime};

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

#[derive(Clone, Copy)]
enum Kind {
    Tasks,
    Clusters,
    Random,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Clusters => "clusters",
            Self::Random => "random",
        }
    }

    fn dims(self) -> usize {
        match self {
            Self::Tasks => StaticEmbedder::DIMS,
            Self::Clusters | Self::Random => 384,
        }
    }
}

struct World {
    dims: usize,
    /// Unit vectors, one after the other.
    vectors: Vec<f32>,
    q: Vec<f64>,
    probes: Vec<Vec<f32>>,
}

impl World {
    fn new(kind: Kind, count: usize) -> Self {
        let mut random = Random(count as u64);
        let dims = kind.dims();
        let texts = texts();
        let centres: Vec<_> = (0..300).map(|_| random.direction(dims)).collect();
        let vector = |random: &mut Random| match kind {
            Kind::Tasks => {
                let text = &texts[random.below(texts.len())];
                let [order, customer] = [100_000, 5_000].map(|end| random.below(end));
                let task = format!("{text} (order {order}, customer {customer})");
                StaticEmbedder.vector(&task).expect("a vector")
            }
            // Two of one cluster have a cosine of about 0.6 to 0.9.
            Kind::Clusters => {
                let spread = 0.3 + 0.5 * random.unit();
                let centre = &centres[random.below(centres.len())];
                let noise = random.direction(dims);
                let mixed = centre.iter().zip(noise).map(|(c, n)| c + spread * n);
                normalised(mixed.collect())
            }
            Kind::Random => random.direction(dims),
        };
        let mut world = Self {
            dims,
            vectors: Vec::with_capacity(count * dims),
            q: Vec::with_capacity(count),
            probes: (0..QUERIES).map(|_| vector(&mut random)).collect(),
        };
        for _ in 0..count {
            world.vectors.extend(vector(&mut random));
            world.q.push(0.5 + 0.1 * (random.below(7) as f64 - 3.0));
        }
        world
    }

    /// Writes the file directly, which is faster than through an engine. Every run but the first ones
    /// was given three memories.
    fn write(&self, path: &Path) {
        drop(Sqlite::open(path).expect("a store"));
        let mut db = rusqlite::Connection::open(path).expect("a connection");
        let filling = db.transaction().expect("a transaction");
        let project = ProjectId::default();
        filling
            .execute(
                "INSERT INTO project (id, revision) VALUES (?1, ?2)",
                rusqlite::params![project.as_str(), self.q.len() as i64],
            )
            .expect("a project");
        filling
            .execute(
                "INSERT INTO embedder (id, dims, seen_at) VALUES ('growth', ?1, 0)",
                [self.dims as i64],
            )
            .expect("an embedder");
        self.insert(&filling, 0..self.q.len());
        filling.commit().expect("a file");
    }

    /// Adds a run, as if it had just been reviewed, to a file with as many.
    fn add(&self, db: &mut rusqlite::Connection, runs: usize) {
        let adding = db.transaction().expect("a transaction");
        self.insert(&adding, runs..runs + 1);
        adding
            .execute("UPDATE project SET revision = ?1", [runs as i64 + 1])
            .expect("a project");
        adding.commit().expect("a run");
    }

    fn insert(&self, db: &rusqlite::Connection, runs: std::ops::Range<usize>) {
        let mut memory = db
            .prepare(
                "INSERT INTO memory (project, id, trace_id, success, q, revision, created_at, \
                     metadata, task, reflection, given) \
                 VALUES (1, ?1, ?1, ?2, ?3, ?4, '2026-01-01T00:00:00Z', '{}', 'A task', ?5, ?6)",
            )
            .expect("a statement");
        let mut embedding = db
            .prepare("INSERT INTO embedding (memory, embedder, vector) VALUES (?1, 1, ?2)")
            .expect("a statement");
        let reflection = serde_json::to_string(&model::Reflection {
            summary: "The customer asked for a refund and got it. ".repeat(6),
            ..model::Reflection::default()
        })
        .expect("a reflection");
        for n in runs {
            let key = n as i64 + 1;
            let given: Vec<_> = (1..4)
                .filter_map(|back| Some(id(n.checked_sub(back * 10)?)))
                .collect();
            let given = serde_json::to_string(&given).expect("ids");
            let same = n % self.q.len();
            memory
                .execute(rusqlite::params![
                    id(n),
                    n % 3 > 0,
                    self.q[same],
                    key,
                    reflection,
                    given
                ])
                .expect("a memory");
            let vector = &self.vectors[same * self.dims..][..self.dims];
            let bytes: Vec<_> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
            embedding
                .execute(rusqlite::params![key, bytes])
                .expect("a vector");
        }
    }

    /// An engine on the file, and the time until it has answered its first query.
    async fn open(&self, path: &Path) -> (Engine, Duration) {
        let begun = Instant::now();
        let engine = Engine::builder()
            .store(Arc::new(Sqlite::open(path).expect("a store")))
            .embedder(Arc::new(self.probes()))
            .start()
            .expect("an engine");
        ask(&engine, 0, Ranking::Learned).await;
        (engine, begun.elapsed())
    }

    fn index_bytes(&self) -> usize {
        let mut index = Index::new(self.dims);
        for (key, (q, vector)) in (1..).zip(self.q.iter().zip(self.rows())) {
            let added = index.upsert(key, vector, *q, &Metadata::new());
            added.expect("a finite vector");
        }
        index.bytes()
    }

    /// The ids of the exact answer by the classic rule.
    fn exact(&self, probe: usize) -> Vec<String> {
        let rows = self.q.iter().zip(self.rows()).enumerate();
        let all: Vec<_> = rows
            .map(|(n, (q, vector))| Candidate {
                key: n as i64,
                vector,
                merit: Merit::untested(*q),
                metadata: None,
            })
            .collect();
        let query = QueryMemories::new("");
        let lambda = query.lambda;
        let floor = Floor::Noise(f64::from(FLOOR));
        let params = Params::new(&query, Rule::Classic { lambda }, floor);
        let best = rank(&self.probes[probe], &all, &params);
        best.iter().map(|best| id(best.key as usize)).collect()
    }

    fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.vectors.chunks_exact(self.dims)
    }

    fn probes(&self) -> Probes {
        Probes {
            dims: self.dims,
            vectors: self.probes.clone(),
        }
    }
}

const FLOOR: f32 = 0.0;

/// The texts of the learning benchmark.
fn texts() -> Vec<String> {
    let sets = [
        include_str!("learn/tasks/banking77.json"),
        include_str!("learn/tasks/nlupp-banking.json"),
        include_str!("learn/tasks/nlupp-hotels.json"),
    ];
    let tasks = sets.iter().flat_map(|set| {
        let tasks: Vec<Metadata> = serde_json::from_str(set).expect("a list of tasks");
        tasks
    });
    tasks
        .filter_map(|task| Some(task.get("task")?.as_str()?.to_owned()))
        .collect()
}

fn id(n: usize) -> String {
    format!("memory-{n}")
}

/// Answers the number of a probe with its vector.
struct Probes {
    dims: usize,
    vectors: Vec<Vec<f32>>,
}

#[async_trait]
impl Embedder for Probes {
    fn id(&self) -> &'static str {
        "growth"
    }

    fn dims(&self) -> usize {
        self.dims
    }

    fn noise_floor(&self) -> f32 {
        FLOOR
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, model::Error> {
        let number = |text: &&str| text.parse::<usize>().expect("the number of a probe");
        let vectors = texts.iter().map(number).map(|n| self.vectors[n].clone());
        Ok(vectors.collect())
    }
}

fn normalised(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    for x in &mut vector {
        *x /= norm;
    }
    vector
}

/// The CPU time of all threads of the process.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(time).expect("a time since the start")
}

/// `SplitMix64`: the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From 0 to 1.
    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// A uniformly distributed direction, as a unit vector.
    fn direction(&mut self, dims: usize) -> Vec<f32> {
        let normal = |random: &mut Self| (0..6).map(|_| random.unit()).sum::<f32>() - 3.0;
        normalised((0..dims).map(|_| normal(self)).collect())
    }
}
