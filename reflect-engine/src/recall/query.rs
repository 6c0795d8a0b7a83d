//! The memories that rank best for a task.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{Memory, ProjectId, QueryMemories};

use super::catch_up::current_index;
use crate::core::Core;
use crate::error::Result;
use crate::index::{ProjectIndex, Shortlist};
use crate::rank::{self, Candidate, Params, Ranked, Rule};
use crate::store::{MemoryKey, Nearest};
use crate::task::{compute, isolate};

/// The number of memories that the store proposes first. Tests ask for few.
const FIRST_PROPOSED: usize = if cfg!(test) { 16 } else { 512 };

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
    let (probe, shortlist) = shortlist(core, project, query, index, probe).await?;
    let (shortlist, vectors) = read(core, project, shortlist).await?;
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

/// The memories that may rank among the best. Where the index has no vectors, the store proposes memories, more
/// and more of them until it is sure that no other ranks.
async fn shortlist(
    core: &Core,
    project: &ProjectId,
    query: &QueryMemories,
    index: Arc<ProjectIndex>,
    mut probe: Vec<f32>,
) -> Result<(Vec<f32>, Shortlist)> {
    let mut count = FIRST_PROPOSED;
    let propose = async |probe: &[f32], count| {
        let space = core.space();
        let of = index.len();
        core.store.nearest(project, &space, probe, count, of).await
    };
    // A filter may leave so few that all of them are read.
    let mut nearest = if index.is_listed() && query.metadata_filter.is_none() {
        propose(&probe, count).await?
    } else {
        Nearest::unknown()
    };
    loop {
        let (asked, index) = (query.clone(), Arc::clone(&index));
        let (default, floor) = (core.ranking.clone(), core.floor);
        let found;
        (probe, found) = compute(move || {
            let ranking = index.ranking().unwrap_or(default);
            let params = |learned| Params::new(&asked, Rule::of(&asked, &ranking, learned), floor);
            let filter = asked.metadata_filter.as_ref();
            let found = index.shortlist(&probe, params, filter, &nearest);
            (probe, found)
        })
        .await?;
        if let Some(shortlist) = found? {
            return Ok((probe, shortlist));
        }
        count = count.saturating_mul(8);
        nearest = propose(&probe, count).await?;
    }
}

/// Reads the exact vectors that decide the ranking.
async fn read(
    core: &Core,
    project: &ProjectId,
    mut shortlist: Shortlist,
) -> Result<(Shortlist, Vec<(MemoryKey, Vec<f32>)>)> {
    let space = core.space();
    let mut vectors = Vec::new();
    while let Some(keys) = shortlist.next_batch() {
        let mut batch = core.store.vectors(project, &space, &keys).await?;
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
