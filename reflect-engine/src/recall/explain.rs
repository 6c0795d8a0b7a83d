//! The numbers behind a query's answer.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{Memory, MemoryId, ProjectId, QueryMemories, Ranking, neutral};
use serde::Serialize;

use super::catch_up::{PAGE, current_index};
use super::query::probe;
use crate::core::Core;
use crate::credit::{Account, Credit};
use crate::error::Result;
use crate::rank::{self, Candidate, Dropped, Explained, Learned, Merit, Params, Rule};
use crate::store::{IndexedMemory, MemoryChange, MemoryKey, Revision};
use crate::task::compute;

/// The cosine similarity from which two tasks count as alike.
const SIMILAR: f64 = 0.5;

/// The numbers behind a query's answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// How the memories were ranked.
    pub ranking: Ranking,
    /// The cosine similarity below which memories were left out.
    pub floor: f64,
    /// The number of the project's memories with a vector of this embedder.
    pub considered: usize,
    /// Up to [`MAX_MEMORIES`](Self::MAX_MEMORIES) memories with their numbers: the answer in its
    /// order, then the others by score.
    pub memories: Vec<ExplainedMemory>,
}

impl Explanation {
    /// The largest number of explained memories.
    pub const MAX_MEMORIES: usize = 1_000;
}

/// A memory with its numbers and its place in the answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedMemory {
    /// The memory's id.
    pub id: MemoryId,
    /// The memory's task.
    pub task: String,
    /// The cosine similarity with the query's task.
    pub similarity: f64,
    /// The memory's utility.
    pub q_value: f64,
    /// What it is ranked by: see [`Memory::score`].
    pub score: f64,
    /// What its runs say about it; `None` by the classic ranking.
    pub evidence: Option<Evidence>,
    /// The number of reviewed runs that were given it, with tasks like the query's.
    pub similar_runs: u32,
    /// How many of them passed.
    pub similar_passed: u32,
    /// The score with the diversity penalty; `None` if the memory did not reach that step.
    pub mmr: Option<f64>,
    /// The place in the answer, from 1.
    pub rank: Option<usize>,
    /// Why the memory is not in the answer.
    pub dropped: Option<Dropped>,
}

/// What the reviewed runs that were given a memory say about it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The number of reviewed runs that were given it.
    pub runs: u32,
    /// How many of them passed.
    pub passed: u32,
    /// How likely it hurts, whatever the task.
    pub hurts: f64,
    /// How likely it helps, whatever the task.
    pub helps: f64,
    /// How likely it helps with tasks like its own only.
    pub helps_if_similar: f64,
}

impl From<Account> for Evidence {
    fn from(account: Account) -> Self {
        Self {
            runs: account.runs,
            passed: account.passed,
            hurts: account.kinds.harmful,
            helps: account.kinds.general,
            helps_if_similar: account.kinds.specific,
        }
    }
}

/// Ranks every memory of the project and keeps the numbers.
pub(crate) async fn explain(
    core: &Arc<Core>,
    project: &ProjectId,
    query: &QueryMemories,
) -> Result<Explanation> {
    let probe = probe(core, &query.task).await?;
    let Some(index) = current_index(core, project).await? else {
        return Ok(Explanation::of_nothing(core, query));
    };
    let all = all_memories(core, project).await?;
    let considered = all.len();
    let (learned, accounts) = index.learned();
    let rule = Rule::of(query, &core.ranking, learned);
    let params = Params::new(query, rule, core.floor);
    let filter = query.metadata_filter.clone();
    let (mut explained, accounts, similar) = compute(move || {
        let candidates: Vec<_> = all.values().map(|m| candidate(m, &accounts)).collect();
        let explained = rank::explain(&probe, &candidates, &params, filter.as_ref());
        let similar = similar_runs(&explained, &all);
        (explained, accounts, similar)
    })
    .await?;
    explained.truncate(Explanation::MAX_MEMORIES);
    let keys: Vec<_> = explained.iter().map(|memory| memory.key).collect();
    let records = core.store.memories(project, &keys).await?;
    let mut records: HashMap<_, _> = records.into_iter().collect();
    let memories = explained.into_iter().filter_map(|memory| {
        let record = records.remove(&memory.key)?.neutral();
        let account = accounts.get(&memory.key).copied();
        let (similar_runs, similar_passed) = similar.get(&record.id).copied().unwrap_or_default();
        Some(ExplainedMemory {
            similar_runs,
            similar_passed,
            id: record.id,
            task: neutral::excerpt(&record.task, Memory::MAX_TASK).into_owned(),
            similarity: memory.similarity,
            q_value: memory.q,
            score: params.rule.shown(memory.score),
            evidence: account
                .filter(|_| params.rule.is_learned())
                .map(Evidence::from),
            mmr: memory.mmr,
            rank: memory.rank,
            dropped: memory.dropped,
        })
    });
    Ok(Explanation {
        ranking: params.rule.ranking(),
        floor: params.floor,
        considered,
        memories: memories.collect(),
    })
}

impl Explanation {
    /// That of a project without memories.
    fn of_nothing(core: &Core, query: &QueryMemories) -> Self {
        let rule = Rule::of(query, &core.ranking, Learned::from(&Credit::new()));
        Self {
            ranking: rule.ranking(),
            floor: Params::new(query, rule, core.floor).floor,
            considered: 0,
            memories: Vec::new(),
        }
    }
}

/// For each memory, the number of runs with a task like the query's that were given it, and how many of
/// them passed. A memory stands for the run that it was learned from.
fn similar_runs(
    explained: &[Explained],
    all: &HashMap<MemoryKey, IndexedMemory>,
) -> HashMap<MemoryId, (u32, u32)> {
    let mut counts = HashMap::<MemoryId, (u32, u32)>::new();
    let similar = explained.iter().filter(|run| run.similarity >= SIMILAR);
    for run in similar.filter_map(|run| all.get(&run.key)) {
        for id in &run.given {
            let (runs, passed) = counts.entry(id.clone()).or_default();
            *runs += 1;
            *passed += u32::from(run.passed);
        }
    }
    counts
}

/// A memory as the ranking sees it.
fn candidate<'a>(
    memory: &'a IndexedMemory,
    accounts: &HashMap<MemoryKey, Account>,
) -> Candidate<'a> {
    let merit = match accounts.get(&memory.key) {
        Some(account) => Merit::of(memory.q, account.kinds),
        None => Merit::untested(memory.q),
    };
    Candidate {
        key: memory.key,
        vector: &memory.vector,
        merit,
        metadata: Some(&memory.metadata),
    }
}

/// All memories with a vector of this embedder, read from the store and not from the index.
async fn all_memories(
    core: &Core,
    project: &ProjectId,
) -> Result<HashMap<MemoryKey, IndexedMemory>> {
    core.claim_embedder().await?;
    let mut all = HashMap::new();
    let mut since = Revision::default();
    loop {
        let embedder = core.embedder.id();
        let changes = core
            .store
            .memory_changes(project, embedder, since, PAGE)
            .await?;
        core.ensure_same_embedder(changes.embedder.as_deref())?;
        if changes.reset {
            all.clear();
        }
        for change in changes.changes {
            match change {
                MemoryChange::Put(memory) if !memory.shown => {
                    all.remove(&memory.key);
                }
                MemoryChange::Put(memory) => {
                    all.insert(memory.key, *memory);
                }
                MemoryChange::Gone(key) => {
                    all.remove(&key);
                }
            }
        }
        since = changes.revision;
        if !changes.more {
            return Ok(all);
        }
    }
}
