//! Answers while a project learns, and after it has learned from whatever happened.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reflect_types::{
    CreateTrace, Explanation, MemoryId, MemoryStatus, MemoryUpdate, ProjectId, QueryMemories,
    Ranking, Review, TraceId, UpdateMemory, Verdict,
};
use serde_json::json;
use tokio::task::JoinSet;

use super::learn;
use crate::Engine;
use crate::store::Sqlite;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_one_project_learns_others_are_answered_and_measured() {
    let engine = Engine::builder().start().unwrap();
    let [large, other] = ["large", "other"].map(ProjectId::from);
    for project in [&large, &other] {
        learn(&engine, project, 3).await;
        let query = QueryMemories::new("Refund order 8");
        engine.query_memories(project, &query).await.unwrap();
    }
    let core = engine.core();
    let index = core.indexes.get(&large, core.space().dims).unwrap();
    let learned = index.revision();
    // Long enough for a test that fails, in place of one that never ends.
    let patience = std::time::Duration::from_secs(60);
    let (began, begun) = tokio::sync::oneshot::channel();
    let (end, ending) = std::sync::mpsc::channel::<()>();
    *index.before_learning.lock().unwrap() = Some(Box::new(move || {
        began.send(()).unwrap();
        ending.recv_timeout(patience).unwrap();
    }));
    learn(&engine, &large, 1).await;
    let mut waiting = JoinSet::new();
    for _ in 0..8 {
        let (engine, large) = (engine.clone(), large.clone());
        waiting.spawn(async move {
            let query = QueryMemories::new("Refund order 8");
            engine.query_memories(&large, &query).await.unwrap().len()
        });
    }
    begun.await.unwrap();

    learn(&engine, &other, 1).await;
    let query = QueryMemories::new("Refund order 8");
    let found = engine.query_memories(&other, &query).await.unwrap();
    assert_eq!(found.len(), 4);
    let gauges = engine.gauges().await.unwrap();
    assert_eq!((gauges.indexes, gauges.index_lag), (2, 1));
    assert_eq!(index.revision(), learned);
    assert!(!index.is_due());

    // Nobody has waited for it.
    end.send(()).unwrap();
    while let Some(found) = waiting.join_next().await {
        assert_eq!(found.unwrap(), 4);
    }
    assert!(index.revision().number > learned.number);
}

const WORDS: [&str; 12] = [
    "refund", "order", "late", "lamp", "invoice", "cancel", "customer", "Berlin", "password",
    "reset", "login", "deploy",
];

/// An engine on a file, and what it was taught.
struct Taught {
    engine: Engine,
    path: PathBuf,
    project: ProjectId,
    random: fastrand::Rng,
    learned: Vec<(TraceId, MemoryId)>,
}

impl Taught {
    fn new(folder: &Path, seed: u64) -> Self {
        let path = folder.join("reflect.db");
        Self {
            engine: open(&path),
            path,
            project: ProjectId::from("a"),
            random: fastrand::Rng::with_seed(seed),
            learned: Vec::new(),
        }
    }

    fn task(&mut self) -> String {
        let words = (0..3).map(|_| WORDS[self.random.usize(..WORDS.len())]);
        words.collect::<Vec<_>>().join(" ")
    }

    fn verdict(&mut self) -> Verdict {
        [Verdict::Pass, Verdict::Fail][self.random.usize(..2)]
    }

    async fn learn(&mut self, runs: usize) {
        for _ in 0..runs {
            let mut run = CreateTrace::new(self.task(), "done");
            run.metadata = serde_json::from_value(json!({"team": self.random.u8(..3)})).unwrap();
            for _ in 0..self.random.usize(..4).min(self.learned.len()) {
                // The oldest ones often, so that much is known about them.
                let at = self.random.usize(..self.learned.len());
                let at = self.random.usize(..=at);
                run.retrieved_memory_ids.push(self.learned[at].1.clone());
            }
            let review = Review::new(self.verdict());
            let stored = self.engine.create_trace(&self.project, run).await.unwrap();
            let trace = stored.trace_id;
            let learned = self.engine.review_trace(&self.project, &trace, review);
            let memory = learned.await.unwrap().created_memory_id.unwrap();
            self.learned.push((trace, memory));
        }
    }

    /// Changes what was learned before.
    async fn change(&mut self) {
        let at = self.random.usize(..self.learned.len());
        let (trace, memory) = self.learned[at].clone();
        match self.random.u8(..4) {
            0 => {
                self.learned.remove(at);
                let deleted = self.engine.delete_memory(&self.project, &memory);
                deleted.await.unwrap();
            }
            1 => {
                let update = MemoryUpdate {
                    status: Some(MemoryStatus::Quarantined),
                    ..MemoryUpdate::default()
                };
                let update = UpdateMemory::new(memory, update);
                let changed = self.engine.update_memory(&self.project, &update);
                changed.await.unwrap();
            }
            _ => {
                let review = Review::new(self.verdict());
                // The same verdict is refused.
                let changed = self.engine.change_review(&self.project, &trace, review);
                let _ = changed.await;
            }
        }
    }

    /// What is said about all memories for some tasks.
    async fn answers(&self) -> Vec<Explanation> {
        let mut answers = Vec::new();
        for (at, word) in WORDS.iter().enumerate() {
            let mut query = QueryMemories::new(*word);
            query.limit = 20;
            if at % 2 == 0 {
                query.ranking = Some(Ranking::Classic);
            }
            if at % 3 == 0 {
                let filter = serde_json::from_value(json!({"team": 1}));
                query.metadata_filter = Some(filter.unwrap());
            }
            let explained = self.engine.explain_memories(&self.project, &query);
            let explained = explained.await.unwrap();
            let found = self.engine.query_memories(&self.project, &query);
            let found: Vec<_> = found.await.unwrap().into_iter().map(|m| m.id).collect();
            let ranked = explained.memories.iter().filter(|m| m.rank.is_some());
            assert_eq!(found, ranked.map(|m| m.id.clone()).collect::<Vec<_>>());
            answers.push(explained);
        }
        answers
    }

    /// Stops the engine and starts another one, which knows nothing but the store.
    async fn restart(&mut self) {
        self.engine.shutdown().await.unwrap();
        self.engine = open(&self.path);
    }
}

fn open(path: &Path) -> Engine {
    let store = Arc::new(Sqlite::open(path).unwrap());
    let builder = Engine::builder().store(store).similarity_floor(0.0);
    builder.start().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happened_an_index_that_followed_says_what_a_new_one_says() {
    for seed in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let mut taught = Taught::new(folder.path(), seed);
        taught.learn(40).await;
        taught.answers().await;
        for round in 0..4 {
            taught.learn(1).await;
            taught.change().await;
            let followed = taught.answers().await;
            taught.restart().await;
            let anew = taught.answers().await;
            assert_eq!(followed, anew, "seed {seed}, round {round}");
        }
        taught.engine.shutdown().await.unwrap();
    }
}
