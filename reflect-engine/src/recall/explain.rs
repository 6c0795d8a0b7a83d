//! The numbers behind a query's answer.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{
    Evidence, ExplainedMemory, Explanation, Memory, MemoryId, ProjectId, QueryMemories, neutral,
};

use super::catch_up::{PAGE, current_index};
use super::query::probe;
use crate::core::Core;
use crate::credit::{Account, Credit};
use crate::error::Result;
use crate::rank::{self, Candidate, Explained, Learned, Merit, Params, Rule};
use crate::store::{IndexedMemory, MemoryChange, MemoryKey, Revision};
use crate::task::compute;

/// The cosine similarity from which two tasks count as alike.
const SIMILAR: f64 = 0.5;

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
        return Ok(of_nothing(core, query));
    };
    let all = all_memories(core, project).await?;
    let considered = all.len();
    let (learned, accounts) = index.learned();
    let default = index.ranking().unwrap_or_else(|| core.ranking.clone());
    let rule = Rule::of(query, &default, learned);
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

/// The explanation of a project without memories.
fn of_nothing(core: &Core, query: &QueryMemories) -> Explanation {
    let rule = Rule::of(query, &core.ranking, Learned::from(&Credit::new()));
    Explanation {
        ranking: rule.ranking(),
        floor: Params::new(query, rule, core.floor).floor,
        considered: 0,
        memories: Vec::new(),
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
