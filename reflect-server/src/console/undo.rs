//! Undoing what a key has taught.

use axum::response::Response;
use jiff::Timestamp;
use reflect_console::{UndoPage, UndoPreview, in_project};
use reflect_types::{KeyId, ListUndos, Undo};

use super::answer::{Problem, long_page, redirect};
use super::visit::{Change, Visit};

/// The undos so far, and the preview of one.
pub(super) async fn preview(visit: Visit) -> Result<Response, Problem> {
    visit.require::<Undo>()?;
    let slot = visit.slot().await?;
    let engine = visit.engine();
    let key = visit.query.get("key");
    let preview = match key {
        "" => None,
        key => {
            let undo = Undo {
                dry_run: true,
                ..of_key(key)
            };
            Some(engine.undo(&visit.project, &undo).await?)
        }
    };
    let keys = visit.keys().await?;
    let records = engine
        .list_undos(&visit.project, &ListUndos::default())
        .await?;
    let preview = preview.as_ref().map(|report| UndoPreview { key, report });
    let frame = visit.frame().await?;
    let now = Timestamp::now();
    let page = UndoPage::new(frame, &keys, preview, &records, now);
    Ok(long_page(slot, &page))
}

/// Undoes everything that a key has taught, as the preview showed it.
pub(super) async fn undo(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    visit.require::<Undo>()?;
    let undo = Undo {
        expect: Some(form.text("expect")),
        ..of_key(form.get("key"))
    };
    visit.engine().undo(&visit.project, &undo).await?;
    Ok(redirect(&in_project(visit.project.as_str(), &["undo"])))
}

fn of_key(key: &str) -> Undo {
    Undo {
        key_id: Some(KeyId::new(key)),
        ..Undo::default()
    }
}
