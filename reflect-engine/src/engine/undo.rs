//! Undoing reviews and changes to memories.

use std::sync::Arc;

use jiff::Timestamp;
use reflect_types::{ListUndos, Page, ProjectId, Undo, UndoRecord, UndoReport};

use super::handle::Engine;
use super::time;
use crate::error::Result;
use crate::id::new_id;
use crate::review::Selection;
use crate::store::{NewUndoRecord, UndoRun};
use crate::task::finish;

impl Engine {
    /// Undoes the reviews of a key, a reviewer, a trace or a period, with their memories and moves. An
    /// undone replacement or withdrawal restores the review before it, and utilities become what they
    /// would be without the undone reviews. Edits, quarantines and restorations of memories by that key or
    /// in that period are undone too; deleted memories are not restored.
    ///
    /// A dry run reports the same changes and makes none. The lists of the report are
    /// [bounded](UndoReport::bounded). Its digest can be the `expect` of the undo
    /// that follows, which is [`Error::Conflict`](crate::Error::Conflict) if it would make other changes.
    ///
    /// An undo that changes something leaves a record.
    ///
    /// Reviews in progress that the undo covers are not learned from. After an undo by key
    /// without a reviewer or an `until`, a judge does not review the runs that the key recorded before.
    pub async fn undo(&self, project: &ProjectId, undo: &Undo) -> Result<UndoReport> {
        let core = self.checked(project, undo)?;
        let selection = Selection {
            key_id: undo.key_id.clone(),
            reviewer: undo.reviewer.clone(),
            trace_id: undo.trace_id.clone(),
            since: time("since", undo.since.as_deref())?,
            until: time("until", undo.until.as_deref())?,
        };
        let run = if undo.dry_run {
            UndoRun::Dry
        } else {
            UndoRun::Real {
                expect: undo.expect.clone(),
                record: Some(Box::new(NewUndoRecord {
                    id: new_id(),
                    key_id: self.key().cloned(),
                    request: undo.clone(),
                })),
            }
        };
        let (project, now) = (project.clone(), core.now());
        let work = {
            let core = Arc::clone(core);
            async move { core.store.undo(&project, &selection, run, now).await }
        };
        if undo.dry_run {
            return Ok(work.await?.bounded());
        }
        // A large one may take longer than a request, and it would begin anew with the next.
        let report = finish(work).await?;
        core.work.notify_one();
        Ok(report.bounded())
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
