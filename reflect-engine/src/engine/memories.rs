//! Querying, reading and changing memories.

use reflect_types::{
    ChangeRecord, DeletedMemory, Explanation, ListMemories, ListMemoryChanges, Memory,
    MemoryHistory, MemoryId, MemoryUpdate, Page, ProjectId, QueryMemories, ReflectionEdit,
    UpdateMemory, neutral,
};

use super::handle::Engine;
use crate::error::{Error, Result};
use crate::recall::{self, Appraisal};

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
    pub async fn explain_memories(
        &self,
        project: &ProjectId,
        query: &QueryMemories,
    ) -> Result<Explanation> {
        let core = self.checked(project, query)?;
        recall::explain(core, project, query).await
    }

    /// What is known about memories for a task, in the order of their ids, without those that are deleted.
    pub async fn appraise(
        &self,
        project: &ProjectId,
        task: &str,
        ids: &[MemoryId],
    ) -> Result<Vec<Appraisal>> {
        let core = self.checked(project, project)?;
        recall::appraise(core, project, task, ids).await
    }

    /// A page of memories with their utility events, newest first.
    pub async fn list_memories(
        &self,
        project: &ProjectId,
        list: &ListMemories,
    ) -> Result<Page<MemoryHistory>> {
        let core = self.checked(project, list)?;
        let Page { items, more } = core.store.list_memories(project, list).await?;
        let items = items.into_iter().map(MemoryHistory::neutral).collect();
        Ok(Page { items, more })
    }

    /// A memory with its utility events and its changes.
    pub async fn get_memory(&self, project: &ProjectId, id: &MemoryId) -> Result<MemoryHistory> {
        let core = self.checked(project, id)?;
        let found = core.store.memory(project, id).await?;
        found
            .map(MemoryHistory::neutral)
            .ok_or_else(|| no_memory(id))
    }

    /// Edits, quarantines or restores a memory. A quarantined memory is left out of queries and skills,
    /// but keeps learning. Every change is recorded with the caller's key and can be
    /// [undone](Self::undo). A skill that was written from the memory is deleted, unless
    /// the memory is only restored. The texts of a change become neutral, as those of a new memory.
    /// A change whose [`known`](MemoryUpdate::known) texts are no longer those of the memory is a conflict.
    ///
    /// A review that replaces the memory's later replaces an edit too.
    pub async fn update_memory(
        &self,
        project: &ProjectId,
        update: &UpdateMemory,
    ) -> Result<MemoryHistory> {
        let core = self.checked(project, update)?;
        let UpdateMemory { memory_id, update } = update.clone();
        let update = MemoryUpdate {
            reflection: update.reflection.map(ReflectionEdit::neutral),
            known: update.known.map(ReflectionEdit::neutral),
            note: update
                .note
                .map(|note| neutral::for_prompt(&note).into_owned()),
            ..update
        };
        let updated = core
            .store
            .update_memory(project, &memory_id, &update, self.key(), core.now())
            .await?;
        let updated = updated.map(MemoryHistory::neutral);
        updated.ok_or_else(|| no_memory(&memory_id))
    }

    /// Deletes a memory with its utility events permanently: an undo does not restore it. The deletion,
    /// its time and its key stay on record. A skill that was written from it is deleted.
    pub async fn delete_memory(&self, project: &ProjectId, id: &MemoryId) -> Result<DeletedMemory> {
        let core = self.checked(project, id)?;
        let deleted = core
            .store
            .delete_memory(project, id, self.key(), core.now())
            .await?;
        if !deleted {
            return Err(no_memory(id));
        }
        Ok(DeletedMemory {
            memory_id: id.clone(),
        })
    }

    /// A page of the changes of all memories, newest first.
    pub async fn list_memory_changes(
        &self,
        project: &ProjectId,
        list: &ListMemoryChanges,
    ) -> Result<Page<ChangeRecord>> {
        let core = self.checked(project, list)?;
        let Page { items, more } = core.store.list_memory_changes(project, list).await?;
        let items = items.into_iter().map(ChangeRecord::neutral).collect();
        Ok(Page { items, more })
    }
}

fn no_memory(id: &MemoryId) -> Error {
    Error::not_found("memory", id.as_str())
}
