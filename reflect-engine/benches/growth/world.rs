//! What is measured: memories of a kind, and queries for them.

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

use crate::{QUERIES, ask};

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Tasks,
    Clusters,
    Random,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Clusters => "clusters",
            Self::Random => "random",
        }
    }

    pub(crate) fn dims(self) -> usize {
        match self {
            Self::Tasks => StaticEmbedder::DIMS,
            Self::Clusters | Self::Random => 384,
        }
    }
}

pub(crate) struct World {
    pub(crate) dims: usize,
    /// Unit vectors, one after the other.
    pub(crate) vectors: Vec<f32>,
    pub(crate) q: Vec<f64>,
    pub(crate) probes: Vec<Vec<f32>>,
}

impl World {
    pub(crate) fn new(kind: Kind, count: usize) -> Self {
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
    pub(crate) fn write(&self, path: &Path) {
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
    pub(crate) fn add(&self, db: &mut rusqlite::Connection, runs: usize) {
        let adding = db.transaction().expect("a transaction");
        self.insert(&adding, runs..runs + 1);
        adding
            .execute("UPDATE project SET revision = ?1", [runs as i64 + 1])
            .expect("a project");
        adding.commit().expect("a run");
    }

    pub(crate) fn insert(&self, db: &rusqlite::Connection, runs: std::ops::Range<usize>) {
        let mut memory = db
            .prepare(
                "INSERT INTO memory (project, id, trace_id, success, q, revision, created_at, \
                     alpha, metadata, task, reflection, given) \
                 VALUES (1, ?1, ?1, ?2, ?3, ?4, '2026-01-01T00:00:00Z', 0.3, '{}', 'A task', ?5, ?6)",
            )
            .expect("a statement");
        let mut embedding = db
            .prepare(
                "INSERT INTO embedding (project, memory, embedder, vector) VALUES (1, ?1, 1, ?2)",
            )
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
    pub(crate) async fn open(&self, path: &Path) -> (Engine, Duration) {
        let begun = Instant::now();
        let engine = Engine::builder()
            .store(Arc::new(Sqlite::open(path).expect("a store")))
            .embedder(Arc::new(self.probes()))
            .start()
            .expect("an engine");
        ask(&engine, 0, Ranking::Learned).await;
        (engine, begun.elapsed())
    }

    pub(crate) fn index_bytes(&self) -> usize {
        let mut index = Index::new(self.dims);
        for (key, (q, vector)) in (1..).zip(self.q.iter().zip(self.rows())) {
            let added = index.upsert(key, vector, *q, &Metadata::new());
            added.expect("a finite vector");
        }
        index.bytes()
    }

    /// The ids of the exact answer by the classic rule.
    pub(crate) fn exact(&self, probe: usize) -> Vec<String> {
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

    pub(crate) fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.vectors.chunks_exact(self.dims)
    }

    pub(crate) fn probes(&self) -> Probes {
        Probes {
            dims: self.dims,
            vectors: self.probes.clone(),
        }
    }
}

pub(crate) const FLOOR: f32 = 0.0;

/// The texts of the learning benchmark.
pub(crate) fn texts() -> Vec<String> {
    let sets = [
        include_str!("../learn/tasks/banking77.json"),
        include_str!("../learn/tasks/nlupp-banking.json"),
        include_str!("../learn/tasks/nlupp-hotels.json"),
    ];
    let tasks = sets.iter().flat_map(|set| {
        let tasks: Vec<Metadata> = serde_json::from_str(set).expect("a list of tasks");
        tasks
    });
    tasks
        .filter_map(|task| Some(task.get("task")?.as_str()?.to_owned()))
        .collect()
}

pub(crate) fn id(n: usize) -> String {
    format!("memory-{n}")
}

/// Answers the number of a probe with its vector.
pub(crate) struct Probes {
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

pub(crate) fn normalised(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    for x in &mut vector {
        *x /= norm;
    }
    vector
}

/// `SplitMix64`: the same numbers in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From 0 to 1.
    pub(crate) fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1_u32 << 24) as f32
    }

    /// A uniformly distributed direction, as a unit vector.
    pub(crate) fn direction(&mut self, dims: usize) -> Vec<f32> {
        let normal = |random: &mut Self| (0..6).map(|_| random.unit()).sum::<f32>() - 3.0;
        normalised((0..dims).map(|_| normal(self)).collect())
    }
}
