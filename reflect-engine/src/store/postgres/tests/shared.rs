//! Several servers on one database: their clocks differ, and no model is asked twice.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use reflect_types::{CreateTrace, ProjectId, Review, Trace};

use super::{administrator, database};
use crate::Engine;
use crate::clock::Clock;
use crate::model::{Embedder, Error, HashedEmbedder, Judge};
use crate::store::{
    ClaimedJob, Intake, JobKey, JobKind, Lease, NewTrace, Postgres, Store as _, VectorSpace,
    Vectors as _,
};

/// A system's clock that is wrong by so many minutes.
#[derive(Default)]
struct Wrong(AtomicI64);

impl Wrong {
    fn by(minutes: i64) -> Arc<Self> {
        Arc::new(Self(AtomicI64::new(minutes)))
    }

    fn set(&self, minutes: i64) {
        self.0.store(minutes, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for Wrong {
    fn now(&self) -> Timestamp {
        Timestamp::now() + SignedDuration::from_mins(self.0.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, _: Timestamp) {
        unreachable!("the database's clock sleeps by itself")
    }
}

/// A server: its store, and the clock of its machine.
struct Server {
    store: Arc<Postgres>,
    clock: Arc<Wrong>,
}

impl Server {
    async fn new(address: &str, minutes: i64) -> Self {
        let clock = Wrong::by(minutes);
        let system = Arc::clone(&clock) as Arc<dyn Clock>;
        let store = Postgres::connect_by(address, system).await.unwrap();
        Self {
            store: Arc::new(store),
            clock,
        }
    }

    fn now(&self) -> Timestamp {
        self.store.clock().now()
    }

    /// A lease of a minute, by this server's idea of the time.
    fn lease(&self, owner: &str) -> Lease {
        Lease {
            owner: owner.to_owned(),
            until: self.now() + SignedDuration::from_mins(1),
        }
    }

    async fn claim(&self, owner: &str, limit: usize) -> Vec<JobKey> {
        let (now, lease) = (self.now(), self.lease(owner));
        let claims = self
            .store
            .claim_jobs(JobKind::Judgement, now, &lease, limit);
        let keys = |job: ClaimedJob| job.key;
        claims.await.unwrap().jobs.into_iter().map(keys).collect()
    }

    fn engine(&self) -> crate::Builder {
        let clock = Arc::new(self.store.clock());
        let store = Arc::clone(&self.store) as Arc<dyn crate::store::Store>;
        Engine::builder().store(store).clock(clock)
    }
}

fn trace(n: usize) -> NewTrace {
    NewTrace {
        id: format!("t-{n}").into(),
        task: format!("Pay bill {n}"),
        trajectory: Vec::new(),
        final_response: String::new(),
        retrieved_memory_ids: Vec::new(),
        model: None,
        metadata: reflect_types::Metadata::new(),
        reference_context: None,
        arm: None,
        parent_run_id: None,
        session_id: None,
        usage: None,
        idempotency_key: None,
        key_id: None,
        creates_project: true,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn postgres_leases_hold_though_clocks_are_minutes_apart_and_set() {
    let address = database("skewed").await;
    let ahead = Server::new(&address, 5).await;
    let behind = Server::new(&address, -7).await;
    let project = ProjectId::from("p");
    for n in 0..6 {
        let stored = ahead
            .store
            .insert_trace(&project, trace(n), Intake::Unreviewed);
        stored.await.unwrap();
    }
    let queued = behind.store.queue_judgements(behind.now(), false);
    queued.await.unwrap();

    let first = ahead.claim("ahead", 3).await;
    let second = behind.claim("behind", 9).await;
    assert_eq!((first.len(), second.len()), (3, 3));
    assert!(first.iter().all(|key| !second.contains(key)));
    // All are held, whoever looks, and also right after a clock was set.
    for minutes in [0, 20, -20, 60 * 24] {
        for server in [&ahead, &behind] {
            server.clock.set(minutes);
            assert!(server.claim("thief", 9).await.is_empty(), "{minutes}");
        }
    }
    // A renewal by a clock that was set back extends the lease, and does not end it.
    ahead.clock.set(-30);
    for key in &first {
        let lease = ahead.lease("ahead");
        assert!(ahead.store.renew_job(&lease, *key).await.unwrap());
    }
    assert!(behind.claim("thief", 9).await.is_empty());

    // Leases that were not renewed end, and their jobs are claimed again.
    let later = "UPDATE test_skewed.queue SET due_at = due_at - 60001";
    administrator().await.batch_execute(later).await.unwrap();
    behind.clock.set(45);
    let mut taken = Vec::new();
    for server in [&ahead, &behind].iter().cycle().take(6) {
        // One at a time: an expired lease may have killed its worker.
        taken.extend(server.claim("heir", 9).await);
    }
    assert!(ahead.claim("thief", 9).await.is_empty());
    taken.sort_unstable();
    let mut all = [first, second].concat();
    all.sort_unstable();
    assert_eq!(taken, all);
}

/// Counts what a model is asked.
#[derive(Default)]
struct Count(Mutex<HashMap<String, usize>>);

impl Count {
    fn add(&self, what: &str) {
        let mut counts = self.0.lock().unwrap();
        *counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Asserts that each of these was asked for once, and nothing else.
    fn assert_once(&self, expected: usize) {
        let counts = self.0.lock().unwrap();
        let repeated: Vec<_> = counts.iter().filter(|(_, count)| **count != 1).collect();
        assert!(repeated.is_empty(), "{repeated:?}");
        assert_eq!(counts.len(), expected);
    }
}

#[async_trait]
impl Judge for Count {
    fn id(&self) -> &'static str {
        "counted"
    }

    async fn judge(&self, trace: &Trace) -> Result<Option<Review>, Error> {
        self.add(trace.id.as_str());
        // Long enough for the other server to look at the queue.
        tokio::time::sleep(Duration::from_millis(10)).await;
        Ok(Some(Review::pass()))
    }
}

#[async_trait]
impl Embedder for Count {
    fn id(&self) -> &'static str {
        "counted"
    }

    fn dims(&self) -> usize {
        HashedEmbedder.dims()
    }

    fn noise_floor(&self) -> f32 {
        HashedEmbedder.noise_floor()
    }

    async fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        for text in texts {
            self.add(text);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        HashedEmbedder.embed(texts).await
    }
}

async fn eventually(mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let within = tokio::time::timeout(Duration::from_secs(90), waiting).await;
    within.expect("it happens");
}

/// A task like no other, or its memory would be merged with another one.
fn task(n: usize) -> String {
    let words = [7_919, 104_729, 15_485, 32_452].map(|step| format!("w{}", n * step % 9_973));
    words.join(" ")
}

/// The traces of the test, which is more than one batch of memories to embed.
const RUNS: usize = 150;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn postgres_servers_judge_each_trace_once_and_embed_each_memory_once() {
    let address = database("counted").await;
    let project = ProjectId::from("p");
    let servers = [
        Server::new(&address, 3).await,
        Server::new(&address, -4).await,
    ];
    let judge = Arc::new(Count::default());
    let engines = servers.each_ref().map(|server| {
        let judge = Arc::clone(&judge) as Arc<dyn Judge>;
        let engine = server.engine().embedder(Arc::new(HashedEmbedder));
        engine.judge(judge).start().unwrap()
    });
    for n in 0..RUNS {
        let run = CreateTrace::new(task(n), "Done.");
        let created = engines[n % 2].create_trace(&project, run).await;
        created.unwrap();
    }
    let memories = async || {
        let stats = servers[0].store.stats(&project).await.unwrap();
        (stats.queued == 0).then_some(stats.memories)
    };
    eventually(async || memories().await == Some(RUNS as u64)).await;
    for engine in engines {
        engine.shutdown().await.unwrap();
    }
    judge.assert_once(RUNS);

    let servers = [
        Server::new(&address, -2).await,
        Server::new(&address, 9).await,
    ];
    let embedder = Arc::new(Count::default());
    let engines = servers.each_ref().map(|server| {
        let embedder = Arc::clone(&embedder) as Arc<dyn Embedder>;
        server.engine().embedder(embedder).start().unwrap()
    });
    let space = VectorSpace::new("counted", HashedEmbedder.dims());
    eventually(async || {
        let lacking = servers[0].store.count_unembedded(&space, None);
        lacking.await.unwrap() == 0
    })
    .await;
    for engine in engines {
        engine.shutdown().await.unwrap();
    }
    embedder.assert_once(RUNS);
}
