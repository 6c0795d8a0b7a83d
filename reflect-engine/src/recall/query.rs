//! The memories that rank best for a task.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{Memory, ProjectId, QueryMemories};

use super::catch_up::current_index;
use crate::core::Core;
use crate::error::Result;
use crate::index::{Asked, Shortlist};
use crate::rank::Ranked;
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
    let asked = Asked {
        probe,
        query: query.clone(),
        ranking: core.ranking.clone(),
        floor: core.floor,
    };
    let shortlist = index.shortlist(asked).await?;
    let params = *shortlist.params();
    let ranking = ranked(core, project, shortlist).await?;
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

/// Reads the exact vectors that decide the ranking, and ranks their memories.
async fn ranked(core: &Core, project: &ProjectId, mut shortlist: Shortlist) -> Result<Vec<Ranked>> {
    let space = core.space();
    let mut vectors = Vec::new();
    let mut next = shortlist.next_batch();
    while let Some(keys) = next {
        let batch = core.store.vectors(project, &space, &keys).await?;
        let ranking;
        (shortlist, vectors, next, ranking) = compute(move || {
            for (key, vector) in &batch {
                shortlist.record(*key, vector);
            }
            vectors.extend(batch);
            let next = shortlist.next_batch();
            let ranking = next.is_none().then(|| shortlist.ranked(&vectors));
            (shortlist, vectors, next, ranking)
        })
        .await?;
        if let Some(ranking) = ranking {
            return Ok(ranking);
        }
    }
    Ok(Vec::new())
}

/// The vector of a query's task.
pub(super) async fn probe(core: &Arc<Core>, task: &str) -> Result<Vec<f32>> {
    let (core, task) = (Arc::clone(core), task.to_owned());
    isolate("the embedder", async move { core.embed_one(&task).await }).await
}
