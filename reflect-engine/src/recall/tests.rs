//! A query whose candidates the database proposes answers like one with its vectors in memory, and like the
//! exact ranking of all memories.

use std::sync::Arc;

use reflect_types::{
    CreateTrace, Dropped, Explanation, Memory, MemoryId, MemoryStatus, MemoryUpdate, ProjectId,
    QueryMemories, Ranking, Review, SearchedIn, TraceId, UpdateMemory, Verdict,
};
use serde_json::json;

use crate::Engine;
use crate::store::{Postgres, scratch_database};

const WORDS: [&str; 24] = [
    "refund",
    "order",
    "late",
    "lamp",
    "invoice",
    "cancel",
    "customer",
    "Berlin",
    "password",
    "reset",
    "login",
    "deploy",
    "server",
    "query",
    "slow",
    "index",
    "translate",
    "letter",
    "French",
    "summary",
    "report",
    "quarter",
    "flight",
    "hotel",
];

/// Repeatable random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        usize::try_from(mixed >> 33).unwrap() % end
    }

    fn task(&mut self) -> String {
        let words = 2 + self.below(5);
        let words: Vec<_> = (0..words).map(|_| WORDS[self.below(24)]).collect();
        words.join(" ")
    }

    fn verdict(&mut self) -> Verdict {
        [Verdict::Pass, Verdict::Fail][self.below(2)]
    }

    fn query(&mut self) -> QueryMemories {
        let mut query = QueryMemories::new(self.task());
        query.limit = [1, 3, 10, 30][self.below(4)];
        match self.below(4) {
            0 => query.ranking = Some(Ranking::Classic),
            1 => query.lambda = [0.0, 0.2, 0.8, 1.0][self.below(4)],
            _ => query.ranking = Some(Ranking::Learned),
        }
        query.mmr_lambda = [QueryMemories::DEFAULT_MMR_LAMBDA, 0.3, 1.0][self.below(3)];
        query.similarity_threshold = [None, Some(-1.0), Some(0.4)][self.below(3)];
        if self.below(3) == 0 {
            let filter = [
                json!({"team": 1}),
                json!({"team": [0, 2]}),
                json!({"rare": true}),
            ];
            let filter = filter[self.below(3)].clone();
            query.metadata_filter = Some(serde_json::from_value(filter).unwrap());
        }
        query
    }
}

/// Two engines on one database: with vectors in memory, and without.
struct Pair {
    project: ProjectId,
    held: Engine,
    listed: Engine,
    random: Random,
    learned: Vec<(TraceId, MemoryId)>,
    /// How often a memory was left out because it would do harm.
    left_out: usize,
}

impl Pair {
    async fn new(address: &str, seed: u64) -> Self {
        let store = || async { Arc::new(Postgres::connect_with(address, 4).await.unwrap()) };
        let builder = || Engine::builder().similarity_floor(0.0);
        Self {
            project: ProjectId::new(format!("p{seed}")),
            held: builder().store(store().await).start().unwrap(),
            listed: builder()
                .store(store().await)
                .index_room(0)
                .start()
                .unwrap(),
            random: Random(seed),
            learned: Vec::new(),
            left_out: 0,
        }
    }

    async fn learn(&mut self) {
        let random = &mut self.random;
        let mut run = CreateTrace::new(random.task(), "done");
        let metadata = json!({"team": random.below(3), "rare": random.below(40) == 0});
        run.metadata = serde_json::from_value(metadata).unwrap();
        let mut verdict = random.verdict();
        if !self.learned.is_empty() {
            let given = (0..random.below(4)).map(|_| random.below(self.learned.len()));
            let given: Vec<usize> = given.collect();
            // Some memories do harm, or none would be left out.
            if given.iter().any(|at| at % 8 == 0) {
                verdict = Verdict::Fail;
            }
            let ids = given.iter().map(|at| self.learned[*at].1.clone());
            run.retrieved_memory_ids = ids.collect();
        }
        let review = Review::new(verdict);
        let trace = self
            .held
            .create_trace(&self.project, run)
            .await
            .unwrap()
            .trace_id;
        let learned = self.held.review_trace(&self.project, &trace, review);
        let memory = learned.await.unwrap().created_memory_id.unwrap();
        self.learned.push((trace, memory));
    }

    /// Changes what was learned long ago.
    async fn change(&mut self) {
        let at = self.random.below(self.learned.len());
        let (trace, memory) = self.learned[at].clone();
        match self.random.below(4) {
            0 => {
                self.learned.remove(at);
                self.held
                    .delete_memory(&self.project, &memory)
                    .await
                    .unwrap();
            }
            1 => {
                let update = MemoryUpdate {
                    status: Some(MemoryStatus::Quarantined),
                    ..MemoryUpdate::default()
                };
                let update = UpdateMemory::new(memory, update);
                let changed = self.held.update_memory(&self.project, &update);
                changed.await.unwrap();
            }
            _ => {
                let review = Review::new(self.random.verdict());
                // The same verdict is refused.
                let _ = self.held.change_review(&self.project, &trace, review).await;
            }
        }
    }

    async fn compare(&mut self) {
        for _ in 0..15 {
            let query = self.random.query();
            let held = self
                .held
                .query_memories(&self.project, &query)
                .await
                .unwrap();
            let listed = self
                .listed
                .query_memories(&self.project, &query)
                .await
                .unwrap();
            assert_eq!(listed, held, "{query:?}");
            let explained = self
                .held
                .explain_memories(&self.project, &query)
                .await
                .unwrap();
            assert_eq!(explained.searched_in, SearchedIn::Memory);
            assert_eq!(answer(&explained), scores(&held), "{query:?}");
            let harm = explained
                .memories
                .iter()
                .filter(|memory| memory.dropped == Some(Dropped::Harm));
            self.left_out += harm.count();
            let explained = self
                .listed
                .explain_memories(&self.project, &query)
                .await
                .unwrap();
            assert_eq!(explained.searched_in, SearchedIn::Database);
            assert_eq!(answer(&explained), scores(&held), "{query:?}");
        }
    }
}

/// A memory with its similarity and its score.
type Scored = (MemoryId, f64, f64);

fn scores(memories: &[Memory]) -> Vec<Scored> {
    let scored = |memory: &Memory| (memory.id.clone(), memory.similarity, memory.score);
    memories.iter().map(scored).collect()
}

fn answer(explanation: &Explanation) -> Vec<Scored> {
    let ranked = explanation
        .memories
        .iter()
        .filter(|memory| memory.rank.is_some());
    ranked
        .map(|memory| (memory.id.clone(), memory.similarity, memory.score))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn postgres_proposes_what_memory_finds_under_every_rule() {
    let address = scratch_database("candidates").await;
    for (seed, memories) in [(1, 0), (2, 5), (3, 60), (4, 190), (5, 220)] {
        let mut pair = Pair::new(&address, seed).await;
        pair.held.create_project(&pair.project).await.unwrap();
        for _ in 0..memories {
            pair.learn().await;
        }
        if memories == 0 {
            let query = QueryMemories::new("refund");
            let found = pair.listed.query_memories(&pair.project, &query);
            assert_eq!(found.await.unwrap(), []);
            continue;
        }
        pair.compare().await;
        for _ in 0..6 {
            pair.change().await;
        }
        pair.learn().await;
        pair.compare().await;
        // With few runs, what does harm is only assumed, and nothing is left out.
        assert_eq!(pair.left_out > 0, memories >= 150, "seed {seed}");
    }
}
