//! Querying and reading memories.

use reflect_types::{
    ListMemories, Memory, MemoryHistory, MemoryId, Page, ProjectId, QueryMemories,
};

use super::handle::Engine;
use crate::error::{Error, Result};
use crate::recall::{self, Explanation};

impl Engine {
    /// The memories that rank best for a task, best first.
    pub async fn query_memories(
        &self,
        project: &ProjectId,
        query: &QueryMemories,
    ) -> Result<Vec<Memory>> {
        let core = self.checked(project, query)?;
        recall::query(core, project, query).await
    }

    /// The numbers behind the answer of a query.
    pub async fn explain(&self, project: &ProjectId, query: &QueryMemories) -> Result<Explanation> {
        let core = self.checked(project, query)?;
        recall::explain(core, project, query).await
    }

    /// A page of memories with their utility events, newest first.
    pub async fn list_memories(
        &self,
        project: &ProjectId,
        list: &ListMemories,
    ) -> Result<Page<MemoryHistory>> {
        let core = self.checked(project, list)?;
        let Page { items, more } = core.store.list_memories(project, list).await?;
        let items = items.into_iter().map(made_neutral).collect();
        Ok(Page { items, more })
    }

    /// A memory with its utility events.
    pub async fn get_memory(&self, project: &ProjectId, id: &MemoryId) -> Result<MemoryHistory> {
        let core = self.checked(project, id)?;
        let found = core.store.memory(project, id).await?;
        let found = found.ok_or_else(|| Error::not_found("memory", id.as_str()))?;
        Ok(made_neutral(found))
    }
}

/// The memory with neutral texts, which an older version may have stored otherwise.
fn made_neutral(history: MemoryHistory) -> MemoryHistory {
    MemoryHistory {
        memory: history.memory.neutral(),
        ..history
    }
}
