//! The memories that rank best for a task.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{Memory, ProjectId, QueryMemories};

use super::catch_up::current_index;
use crate::core::Core;
use crate::error::Result;
use crate::index::Shortlist;
use crate::rank::{self, Candidate, Params, Ranked, Rule};
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
    let default = index.ranking().unwrap_or_else(|| core.ranking.clone());
    let (asked, settings) = (query.clone(), (default, core.floor));
    let (probe, shortlist) = compute(move || {
        let (ranking, floor) = settings;
        let params = |learned| Params::new(&asked, Rule::of(&asked, &ranking, learned), floor);
        let shortlist = index.shortlist(&probe, params, asked.metadata_filter.as_ref());
        (probe, shortlist)
    })
    .await?;
    let (shortlist, vectors) = read(core, project, shortlist?).await?;
    let params = *shortlist.params();
    let ranking = compute(move || ranked(&probe, &vectors, &shortlist)).await?;
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

/// Reads the exact vectors that decide the ranking.
async fn read(
    core: &Core,
    project: &ProjectId,
    mut shortlist: Shortlist,
) -> Result<(Shortlist, Vec<(MemoryKey, Vec<f32>)>)> {
    let embedder = core.embedder.id();
    let mut vectors = Vec::new();
    while let Some(keys) = shortlist.next_batch() {
        let mut batch = core.store.vectors(project, embedder, &keys).await?;
        (shortlist, batch) = compute(move || {
            for (key, vector) in &batch {
                shortlist.record(*key, vector);
            }
            (shortlist, batch)
        })
        .await?;
        vectors.append(&mut batch);
    }
    Ok((shortlist, vectors))
}

fn ranked(probe: &[f32], vectors: &[(MemoryKey, Vec<f32>)], shortlist: &Shortlist) -> Vec<Ranked> {
    let candidates: Vec<_> = vectors
        .iter()
        .filter_map(|(key, vector)| {
            Some(Candidate {
                key: *key,
                vector,
                merit: shortlist.merit(*key)?,
                metadata: None,
            })
        })
        .collect();
    rank::rank(probe, &candidates, shortlist.params())
}

/// The vector of a query's task.
pub(super) async fn probe(core: &Arc<Core>, task: &str) -> Result<Vec<f32>> {
    let (core, task) = (Arc::clone(core), task.to_owned());
    isolate("the embedder", async move { core.embed_one(&task).await }).await
}
