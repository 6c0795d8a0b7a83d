//! Undoing what was taught.

use jiff::Timestamp;
use reflect_types::{InvalidField, ProjectId, Undo, UndoReport};

use super::handle::Engine;
use crate::error::{Error, Result};
use crate::review::Selection;
use crate::store::UndoRun;

impl Engine {
    /// Takes back what a key, a reviewer, a trace or a time has taught: reviews, their memories and
    /// their moves. A review that replaced another gives way to it, a withdrawn one comes back, and
    /// utilities become what they would be if nothing of it had happened. Edits, quarantines and
    /// restorations of memories by that key or in that time are taken back too; deleted memories do not
    /// come back.
    ///
    /// A dry run reports the same changes and makes none. The lists of the report are
    /// [bounded](UndoReport::bounded). Its digest can be expected of the undo that
    /// follows, which is [`Error::Conflict`] if it would take back something else.
    ///
    /// Reviews in progress that the undo covers are not learned from. After an undo of all that a key
    /// has taught, a judge does not review the runs that the key has recorded before.
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
            let expect = undo.expect.clone();
            UndoRun::Real { expect }
        };
        let report = core.store.undo(project, &selection, run, core.now());
        let report = report.await?;
        if !undo.dry_run {
            core.work.notify_one();
        }
        Ok(report.bounded())
    }
}

fn time(field: &'static str, text: Option<&str>) -> Result<Option<Timestamp>> {
    let parse = |text: &str| {
        text.parse().map_err(|_| {
            let problem = format!("must be a time such as `2026-11-15T12:00:00Z`, got `{text}`");
            Error::Invalid(InvalidField::new(field, problem))
        })
    };
    text.map(parse).transpose()
}
