//! The memories that rank best for a task.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{Memory, ProjectId, QueryMemories};

use super::catch_up::current_index;
use crate::core::Core;
use crate::error::Result;
use crate::rank::{self, Candidate, Merit, Params, Ranked, Rule};
use crate::store::MemoryKey;
use crate::task::{compute, isolate};

/// The memories that rank best, best first.
pub(crate) async fn query(
    core: &Arc<Core>,
    project: &ProjectId,
    query: &QueryMemories,
) -> Result<Vec<Memory>> {
    let probe = probe(core, &query.task).await?;
    let Some(index) = current_index(core, project).await? else {
        return Ok(Vec::new());
    };
    let (asked, settings) = (query.clone(), (core.ranking.clone(), core.floor));
    let (probe, shortlist) = compute(move || {
        let (ranking, floor) = settings;
        let params = |learned| Params::new(&asked, Rule::of(&asked, &ranking, learned), floor);
        let shortlist = index.shortlist(&probe, params, asked.metadata_filter.as_ref());
        (probe, shortlist)
    })
    .await?;
    let (params, shortlist) = shortlist?;
    // In rising order, as a file stores them.
    let keys: Vec<_> = shortlist.iter().map(|(key, _)| *key).collect();
    let merits: HashMap<_, _> = shortlist.into_iter().collect();
    let vectors = core
        .store
        .vectors(project, core.embedder.id(), &keys)
        .await?;
    let ranking = compute(move || ranked(&probe, &vectors, &merits, &params)).await?;
    let keys: Vec<_> = ranking.iter().map(|ranked| ranked.key).collect();
    let records = core.store.memories(project, &keys).await?;
    let mut records: HashMap<_, _> = records.into_iter().collect();
    let memories = ranking.into_iter().filter_map(|ranked| {
        let mut record = records.remove(&ranked.key)?;
        // The utility it was ranked by, which may have moved since.
        record.q_value = ranked.q;
        Some(record.into_memory(ranked.similarity, params.rule.shown(ranked.score)))
    });
    Ok(memories.collect())
}

fn ranked(
    probe: &[f32],
    vectors: &[(MemoryKey, Vec<f32>)],
    merits: &HashMap<MemoryKey, Merit>,
    params: &Params,
) -> Vec<Ranked> {
    let candidates: Vec<_> = vectors
        .iter()
        .filter_map(|(key, vector)| {
            Some(Candidate {
                key: *key,
                vector,
                merit: *merits.get(key)?,
                metadata: None,
            })
        })
        .collect();
    rank::rank(probe, &candidates, params)
}

/// The vector of a query's task.
pub(super) async fn probe(core: &Arc<Core>, task: &str) -> Result<Vec<f32>> {
    let (core, task) = (Arc::clone(core), task.to_owned());
    isolate("the embedder", async move { core.embed_one(&task).await }).await
}
