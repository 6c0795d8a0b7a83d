//! What is known about given memories, for one task.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{Evidence, MemoryId, MemoryRecord, ProjectId, QueryMemories};

use super::catch_up::current_index;
use super::query::probe;
use crate::core::Core;
use crate::error::Result;
use crate::rank::{self, Candidate, Merit, Params, Rule};

/// A memory, and what is known about it for a task.
#[derive(Clone, Debug, PartialEq)]
pub struct Appraisal {
    /// The memory.
    pub memory: MemoryRecord,
    /// The cosine similarity of its task and the given one; `None` if it cannot be computed.
    pub similarity: Option<f64>,
    /// What it would be ranked by: see [`Memory::score`](reflect_types::Memory::score).
    pub score: Option<f64>,
    /// What its runs say about it.
    pub evidence: Option<Evidence>,
}

/// Appraises memories for a task, in the order of their ids, without those that are deleted.
pub(crate) async fn appraise(
    core: &Arc<Core>,
    project: &ProjectId,
    task: &str,
    ids: &[MemoryId],
) -> Result<Vec<Appraisal>> {
    let found = core.store.find_memories(project, ids).await?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    // An embedder that does not answer leaves the numbers open: what is stored is shown all the same.
    let probe = match probe(core, task).await {
        Ok(probe) => probe,
        Err(error) => {
            tracing::warn!(%error, "memories are shown without what ranks them");
            let unknown = found.into_iter().map(|(_, memory)| Appraisal {
                memory: memory.neutral(),
                similarity: None,
                score: None,
                evidence: None,
            });
            return Ok(unknown.collect());
        }
    };
    let Some(index) = current_index(core, project).await? else {
        return Ok(Vec::new());
    };
    let keys: Vec<_> = found.iter().map(|(key, _)| *key).collect();
    let (learned, accounts) = index.turn().await.learned_of(&keys);
    let query = QueryMemories::new(task);
    let default = index.ranking().unwrap_or_else(|| core.ranking.clone());
    let rule = Rule::of(&query, &default, learned);
    let params = Params::new(&query, rule, core.floor);
    let vectors = core.store.vectors(project, &core.space(), &keys).await?;
    let vectors: HashMap<_, _> = vectors.into_iter().collect();
    let appraised = found.into_iter().map(|(key, memory)| {
        let account = accounts.get(&key);
        let ranked = vectors.get(&key).map(|vector| {
            let candidate = Candidate {
                key,
                vector,
                merit: Merit::of(memory.q_value, account),
                metadata: None,
            };
            rank::appraise(&probe, &candidate, &params)
        });
        Appraisal {
            memory: memory.neutral(),
            similarity: ranked.map(|ranked| ranked.similarity),
            score: ranked.map(|ranked| params.rule.shown(ranked.score)),
            evidence: account.copied().map(Evidence::from),
        }
    });
    Ok(appraised.collect())
}
