//! Answers of an index that is loaded from a snapshot, compared with the saved index and a rebuilt one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reflect_types::{
    CreateTrace, Explanation, MemoryId, MemoryStatus, MemoryUpdate, ProjectId, QueryMemories,
    Ranking, Review, TraceId, UpdateMemory, UpdateProject, Verdict,
};
use serde_json::json;

use crate::Engine;
use crate::store::{SnapshotKey, Sqlite};

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

    /// Stops the engine, which waits until the index is saved, and starts another one.
    async fn restart(&mut self) {
        self.engine.shutdown().await.unwrap();
        self.engine = open(&self.path);
    }

    /// The snapshot, once what is being saved is saved.
    async fn snapshot(&self) -> Option<SnapshotKey> {
        let mut calls = self.engine.core().calls.subscribe();
        calls.wait_for(|count| *count == 0).await.unwrap();
        let core = self.engine.core();
        let found = core.store.snapshot(&self.project, &core.space()).await;
        found.unwrap().map(|(key, _)| key)
    }

    /// Whether a restart uses the snapshot. A rebuilt index is saved under a new key.
    async fn is_loaded_at_restart(&mut self) -> bool {
        let before = self.snapshot().await;
        assert!(before.is_some());
        self.restart().await;
        self.answers().await;
        before == self.snapshot().await
    }

    fn execute(&self, sql: &str) {
        let db = rusqlite::Connection::open(&self.path).unwrap();
        assert!(db.execute(sql, []).unwrap() > 0);
    }
}

fn open(path: &Path) -> Engine {
    let store = Arc::new(Sqlite::open(path).unwrap());
    let builder = Engine::builder().store(store).similarity_floor(0.0);
    builder.start().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happened_an_index_from_a_snapshot_says_the_same() {
    for seed in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        let mut taught = Taught::new(folder.path(), seed);
        taught.learn(40).await;
        let mut first = taught.answers().await;
        for round in 0..4 {
            assert!(
                taught.is_loaded_at_restart().await,
                "seed {seed}, round {round}"
            );
            assert_eq!(taught.answers().await, first, "seed {seed}, round {round}");
            // Fewer than it takes to save the index again.
            taught.restart().await;
            taught.learn(1).await;
            taught.change().await;
            let followed = taught.answers().await;
            taught.snapshot().await;
            taught.restart().await;
            taught.execute("DELETE FROM snapshot");
            let anew = taught.answers().await;
            assert_eq!(followed, anew, "seed {seed}, round {round}");
            first = anew;
        }
        taught.engine.shutdown().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_that_is_broken_or_of_other_settings_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let mut taught = Taught::new(folder.path(), 9);
    taught.learn(40).await;
    let answers = taught.answers().await;
    assert!(taught.is_loaded_at_restart().await);

    taught.execute("UPDATE snapshot_part SET bytes = zeroblob(length(bytes)) WHERE number = 2");
    assert!(!taught.is_loaded_at_restart().await);
    assert_eq!(taught.answers().await, answers);
    taught.execute("DELETE FROM snapshot_part WHERE number = 2");
    assert!(!taught.is_loaded_at_restart().await);
    assert_eq!(taught.answers().await, answers);
    // The store fails to tell.
    taught.restart().await;
    taught.execute("UPDATE snapshot SET parts = -1");
    assert_eq!(taught.answers().await, answers);
    taught.snapshot().await;

    assert!(taught.is_loaded_at_restart().await);
    let settings = UpdateProject {
        max_memories: Some(Some(30)),
        ..UpdateProject::default()
    };
    let updated = taught.engine.update_project(&taught.project, &settings);
    updated.await.unwrap();
    assert!(!taught.is_loaded_at_restart().await);
    assert!(taught.is_loaded_at_restart().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_one_snapshot_is_kept_and_none_of_a_small_project_or_with_what_is_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let mut taught = Taught::new(folder.path(), 5);
    let count = |table: &str| -> i64 {
        let db = rusqlite::Connection::open(folder.path().join("reflect.db")).unwrap();
        let select = format!("SELECT count(*) FROM {table}");
        db.query_row(&select, [], |row| row.get(0)).unwrap()
    };
    taught.learn(8).await;
    taught.answers().await;
    assert_eq!(taught.snapshot().await, None);
    for _ in 0..5 {
        let before = taught.snapshot().await;
        taught.learn(16).await;
        taught.answers().await;
        assert!(taught.snapshot().await > before);
        assert_eq!(count("snapshot"), 1);
    }
    assert!(count("snapshot_part") > 1);

    // Whoever left parts behind, the next process deletes them.
    taught.execute("DELETE FROM snapshot");
    taught.restart().await;
    assert_eq!(taught.snapshot().await, None);
    assert_eq!(count("snapshot_part"), 0);
    taught.answers().await;
    assert!(taught.snapshot().await.is_some());

    let (_, memory) = taught.learned.pop().unwrap();
    let deleted = taught.engine.delete_memory(&taught.project, &memory);
    deleted.await.unwrap();
    assert_eq!(taught.snapshot().await, None);
    assert_eq!((count("snapshot"), count("snapshot_part")), (0, 0));
    taught.answers().await;
    assert!(taught.is_loaded_at_restart().await);
    let deleted = taught.engine.delete_project(&taught.project);
    deleted.await.unwrap();
    assert_eq!(taught.snapshot().await, None);
    assert_eq!((count("snapshot"), count("snapshot_part")), (0, 0));
}
