//! The numbers behind a query's answer.

use std::collections::HashMap;
use std::sync::Arc;

use reflect_types::{
    Evidence, ExplainedMemory, Explanation, Memory, ProjectId, QueryMemories, neutral,
};

use super::catch_up::{PAGE, current_index};
use super::query::probe;
use super::survey::Survey;
use crate::core::Core;
use crate::error::Result;
use crate::learn::{Account, Credit};
use crate::rank::{Learned, Params, Rule};
use crate::store::Revision;
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
    let turn = index.turn().await;
    let (learned, accounts) = compute(move || turn.learned()).await?;
    let default = index.ranking().unwrap_or_else(|| core.ranking.clone());
    let rule = Rule::of(query, &default, learned);
    let params = Params::new(query, rule, core.floor);
    let survey = Survey::new(probe, query, params, accounts);
    let survey = all_memories(core, project, survey).await?;
    let unembedded = core
        .store
        .count_unembedded(&core.space(), Some(project))
        .await?;
    let (survey, mut explained) = compute(move || {
        let explained = survey.explained();
        (survey, explained)
    })
    .await?;
    explained.truncate(Explanation::MAX_MEMORIES);
    let keys: Vec<_> = explained.iter().map(|memory| memory.ranked.key).collect();
    let records = core.store.memories(project, &keys).await?;
    let mut records: HashMap<_, _> = records.into_iter().collect();
    let memories = explained.into_iter().filter_map(|memory| {
        let ranked = memory.ranked;
        let record = records.remove(&ranked.key)?.neutral();
        let account = survey.account(ranked.key);
        let (similar_runs, similar_passed) = survey.similar_runs(&record.id);
        Some(ExplainedMemory {
            similar_runs,
            similar_passed,
            id: record.id,
            task: neutral::excerpt(&record.task, Memory::MAX_TASK).into_owned(),
            similarity: ranked.similarity,
            q_value: ranked.q,
            score: params.rule.shown(ranked.score),
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
        floor: params.floor.similarity(),
        considered: survey.considered(),
        unembedded,
        memories: memories.collect(),
    })
}

/// The explanation of a project without memories.
fn of_nothing(core: &Core, query: &QueryMemories) -> Explanation {
    let rule = Rule::of(query, &core.ranking, Learned::from(&Credit::new()));
    Explanation {
        ranking: rule.ranking(),
        floor: Params::new(query, rule, core.floor).floor.similarity(),
        considered: 0,
        unembedded: 0,
        memories: Vec::new(),
    }
}

/// Surveys all memories with a vector of this embedder, read from the store and not from the index.
async fn all_memories(core: &Core, project: &ProjectId, mut survey: Survey) -> Result<Survey> {
    let space = core.space();
    let mut since = Revision::default();
    loop {
        let page = core.store.memory_changes(project, &space, since, PAGE);
        let page = page.await?;
        let more = page.more;
        since = page.revision;
        survey = compute(move || {
            survey.add(page);
            survey
        })
        .await?;
        if !more {
            return Ok(survey);
        }
    }
}
