//! Undoing what was taught.

use jiff::Timestamp;
use reflect_types::{ListUndos, Page, ProjectId, Undo, UndoRecord, UndoReport};

use super::handle::Engine;
use super::time;
use crate::error::Result;
use crate::id::new_id;
use crate::review::Selection;
use crate::store::NewUndo;

impl Engine {
    /// Takes back what a key, a reviewer, a trace or a time has taught: reviews, their memories and
    /// their moves. A review that replaced another gives way to it, a withdrawn one comes back, and
    /// utilities become what they would be if nothing of it had happened. Edits, quarantines and
    /// restorations of memories by that key or in that time are taken back too; deleted memories do not
    /// come back.
    ///
    /// A dry run reports the same changes and makes none. An undo that changes something is final, and
    /// leaves a record.
    pub async fn undo(&self, project: &ProjectId, undo: &Undo) -> Result<UndoReport> {
        let core = self.checked(project, undo)?;
        let new = NewUndo {
            id: new_id(),
            request: undo.clone(),
            selection: Selection {
                key_id: undo.key_id.clone(),
                reviewer: undo.reviewer.clone(),
                trace_id: undo.trace_id.clone(),
                since: time("since", undo.since.as_deref())?,
                until: time("until", undo.until.as_deref())?,
            },
            key_id: self.key().cloned(),
            at: core.now(),
        };
        let report = core.store.undo(project, new).await?;
        if !undo.dry_run {
            core.work.notify_one();
        }
        Ok(report)
    }

    /// A page of the records of undos, newest first.
    pub async fn list_undos(
        &self,
        project: &ProjectId,
        list: &ListUndos,
    ) -> Result<Page<UndoRecord>> {
        let core = self.checked(project, list)?;
        core.store.list_undos(project, list).await
    }
}

fn time(field: &'static str, text: Option<&str>) -> Result<Option<Timestamp>> {
    let time = text.map(|text| time::parse(field, text)).transpose();
    Ok(time?)
}
