//! Our engine on a file: durable traces of one submitter, and queries of vectors that others are asked for too.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use reflect_engine::Engine;
use reflect_engine::model::{self, Embedder};
use reflect_engine::store::Sqlite;
use reflect_types::{CreateTrace, Message, ProjectId, QueryMemories, Review};

use crate::{Result, cpu_time, messages, row};

const TRACES: usize = 2_000;
const DIMENSIONS: usize = 384;
/// Many, because those who wait together share a commit.
const SUBMITTERS: usize = 64;

/// Traces a second, each durable before the next one is submitted.
pub(crate) fn traces() -> Result<()> {
    let folder = tempfile::tempdir()?;
    tokio::runtime::Runtime::new()?.block_on(async {
        let engine = Engine::open_sqlite(folder.path().join("reflect.db")).await?;
        let began = Instant::now();
        for _ in 0..TRACES {
            let messages = messages().map(|(role, text)| match role {
                "user" => Message::user(text),
                _ => Message::assistant(text),
            });
            let trace = CreateTrace::new("Refund order 7", messages.collect::<Vec<_>>());
            engine.create_trace(&ProjectId::default(), trace).await?;
        }
        let rate = TRACES as f64 / began.elapsed().as_secs_f64();
        row("Reflect's engine, one submitter", rate, "durable when acknowledged");
        Ok(engine.shutdown().await?)
    })
}

/// Learns a memory of each vector in this folder, and queries with each of its probes.
pub(crate) fn vectors(folder: &Path) -> Result<()> {
    let given = Given {
        vectors: read(&folder.join("vectors.f32"))?,
        probes: read(&folder.join("probes.f32"))?,
    };
    let (memories, probes) = (given.vectors.len(), given.probes.len());
    tokio::runtime::Runtime::new()?.block_on(async {
        let store = Sqlite::open(folder.join("reflect.db"))?;
        let engine = Engine::builder()
            .store(Arc::new(store))
            .embedder(Arc::new(given))
            .concurrency(4 * SUBMITTERS)
            .start()?;
        learn(&engine, memories).await?;
        // The first one loads the index.
        ask(&engine, 0).await?;
        let (mut times, cpu) = (Vec::new(), cpu_time());
        for probe in 0..probes {
            let began = Instant::now();
            ask(&engine, probe).await?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
        let cpu = (cpu_time() - cpu).as_secs_f64() * 1e3 / probes as f64;
        times.sort_by(f64::total_cmp);
        let p99 = times[probes * 99 / 100];
        let note = format!("{p99:.2} ms p99, {cpu:.2} ms CPU; exact, ranked by reviews too, memories read");
        row("Reflect's engine, a query", times[probes / 2], &note);
        Ok(engine.shutdown().await?)
    })
}

async fn learn(engine: &Engine, memories: usize) -> Result<()> {
    let mut submitting = tokio::task::JoinSet::new();
    for part in 0..SUBMITTERS {
        let engine = engine.clone();
        submitting.spawn(async move {
            for n in (part..memories).step_by(SUBMITTERS) {
                let done = vec![Message::assistant("Done.")];
                let trace = CreateTrace {
                    review: Some(if n % 2 == 0 { Review::pass() } else { Review::fail("It was too late.") }),
                    ..CreateTrace::new(format!("memory {n}"), done)
                };
                engine.create_trace(&ProjectId::default(), trace).await?;
            }
            Ok::<_, reflect_engine::Error>(())
        });
    }
    while let Some(part) = submitting.join_next().await {
        part??;
    }
    while engine.stats(&ProjectId::default()).await?.queued > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn ask(engine: &Engine, probe: usize) -> Result<()> {
    let query = QueryMemories::new(format!("probe {probe}"));
    let found = engine.query_memories(&ProjectId::default(), &query).await?;
    match found.len() {
        10 => Ok(()),
        other => Err(format!("{other} memories instead of 10").into()),
    }
}

/// Vectors of this many `f32`, least significant byte first.
fn read(path: &Path) -> Result<Vec<Vec<f32>>> {
    let bytes = std::fs::read(path)?;
    let (numbers, _) = bytes.as_chunks();
    let numbers: Vec<f32> = numbers.iter().copied().map(f32::from_le_bytes).collect();
    Ok(numbers.chunks(DIMENSIONS).map(<[f32]>::to_vec).collect())
}

/// Answers the name of a vector with the vector.
struct Given {
    vectors: Vec<Vec<f32>>,
    probes: Vec<Vec<f32>>,
}

#[async_trait]
impl Embedder for Given {
    fn id(&self) -> &'static str {
        "given"
    }

    fn dims(&self) -> usize {
        DIMENSIONS
    }

    fn noise_floor(&self) -> f32 {
        0.0
    }

    async fn embed(&self, texts: &[&str]) -> std::result::Result<Vec<Vec<f32>>, model::Error> {
        let vector = |text: &&str| {
            let (kind, number) = text.split_once(' ').unwrap_or_default();
            let number: usize = number.parse().unwrap_or_default();
            match kind {
                "probe" => self.probes[number].clone(),
                _ => self.vectors[number].clone(),
            }
        };
        Ok(texts.iter().map(vector).collect())
    }
}
