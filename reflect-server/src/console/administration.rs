//! Undoing what a key has taught, and the settings of the project.

use axum::response::Response;
use jiff::Timestamp;
use reflect_console::{SettingsPage, UndoPage, UndoPreview, in_project};
use reflect_types::{KeyId, ListUndos, Undo, UpdateProject};

use super::answer::{Problem, page, redirect};
use super::visit::{Change, Visit};
use crate::error::ApiError;

/// The undos so far, and the preview of one.
pub(super) async fn undo_page(visit: Visit) -> Result<Response, Problem> {
    visit.require::<Undo>()?;
    let engine = visit.engine();
    let key = visit.query.get("key");
    let preview = match key {
        "" => None,
        key => {
            let undo = Undo {
                dry_run: true,
                ..of_key(key)
            };
            let report = engine.undo(&visit.project, &undo).await;
            Some(report.map_err(|error| visit.refused(error))?)
        }
    };
    let keys = visit.app.keys().list(Some(&visit.project)).await?;
    let records = engine
        .list_undos(&visit.project, &ListUndos::default())
        .await?;
    let preview = preview.as_ref().map(|report| UndoPreview { key, report });
    let frame = visit.frame().await?;
    let now = Timestamp::now();
    Ok(page(&UndoPage::new(frame, &keys, preview, &records, now)))
}

/// Undoes everything that a key has taught, as the preview showed it.
pub(super) async fn undo(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    visit.require::<Undo>()?;
    let undo = Undo {
        expect: Some(form.text("expect")),
        ..of_key(form.get("key"))
    };
    let undone = visit.engine().undo(&visit.project, &undo).await;
    undone.map_err(|error| visit.refused(error))?;
    Ok(redirect(&in_project(visit.project.as_str(), &["undo"])))
}

/// The settings.
pub(super) async fn settings(visit: Visit) -> Result<Response, Problem> {
    visit.require::<UpdateProject>()?;
    let engine = visit.engine();
    let limit = engine.max_alpha(&visit.project).await?;
    let stats = engine.stats(&visit.project).await?;
    let (frame, first) = (visit.frame().await?, visit.first_trace());
    Ok(page(&SettingsPage::new(
        frame,
        &stats,
        limit,
        engine.default_alpha(),
        &first,
    )))
}

/// Changes the settings.
pub(super) async fn update(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    visit.require::<UpdateProject>()?;
    let max_alpha: Option<f64> = match form.get("max_alpha").trim() {
        "" => None,
        alpha => Some(alpha.parse().map_err(|_| {
            visit.refused(ApiError::field("max_alpha", "must be a number from 0 to 1"))
        })?),
    };
    let update = UpdateProject {
        max_alpha: Some(max_alpha),
        ..UpdateProject::default()
    };
    let updated = visit.engine().update_project(&visit.project, &update).await;
    updated.map_err(|error| visit.refused(error))?;
    Ok(redirect(&in_project(visit.project.as_str(), &["settings"])))
}

fn of_key(key: &str) -> Undo {
    Undo {
        key_id: Some(KeyId::new(key)),
        ..Undo::default()
    }
}
