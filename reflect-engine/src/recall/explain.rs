//! The numbers behind a query's answer.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{
    Evidence, ExplainedMemory, Explanation, Memory, ProjectId, QueryMemories, neutral,
};

use super::catch_up::{PAGE, current_index};
use super::query::probe;
use crate::core::Core;
use crate::credit::{Account, Credit};
use crate::error::Result;
use crate::rank::{self, Candidate, Learned, Merit, Params, Rule};
use crate::store::{IndexedMemory, MemoryChange, MemoryKey, Revision};
use crate::task::compute;

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
    let rule = Rule::of(query, &core.ranking, learned);
    let params = Params::new(query, rule, core.floor);
    let filter = query.metadata_filter.clone();
    let (mut explained, accounts) = compute(move || {
        let candidates: Vec<_> = all.values().map(|m| candidate(m, &accounts)).collect();
        let explained = rank::explain(&probe, &candidates, &params, filter.as_ref());
        (explained, accounts)
    })
    .await?;
    explained.truncate(Explanation::MAX_MEMORIES);
    let keys: Vec<_> = explained.iter().map(|memory| memory.key).collect();
    let records = core.store.memories(project, &keys).await?;
    let mut records: HashMap<_, _> = records.into_iter().collect();
    let memories = explained.into_iter().filter_map(|memory| {
        let record = records.remove(&memory.key)?.neutral();
        let account = accounts.get(&memory.key).copied();
        Some(ExplainedMemory {
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
