//! The settings of the project.

use axum::response::Response;
use reflect_console::{Settings, SettingsPage, setting_values};
use reflect_types::{Approval, Ranking, UpdateProject};

use super::answer::{self, Problem, redirect};
use super::form::Fields;
use super::visit::{Change, Visit};
use crate::error::ApiError;

/// The settings.
pub(super) async fn page(visit: Visit) -> Result<Response, Problem> {
    visit.require::<UpdateProject>()?;
    let engine = visit.engine();
    let settings = Settings {
        project: &engine.settings(&visit.project).await?,
        stats: &engine.stats(&visit.project).await?,
        default_alpha: engine.default_alpha(),
        keeps_personal_by_default: engine.keeps_personal_values(),
        is_saved: visit.query.get("saved") == "1",
    };
    let (frame, first) = (visit.frame().await?, visit.first_trace());
    Ok(answer::page(&SettingsPage::new(frame, settings, &first)))
}

/// Changes the settings.
pub(super) async fn update(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    visit.require::<UpdateProject>()?;
    let update = of_form(&form)?;
    let settings = visit.engine().settings(&visit.project).await?;
    for (name, stored) in setting_values(&settings) {
        let was = format!("was_{name}");
        let is_stale =
            form.has(&was) && form.get(&was) != stored && form.get(name).trim() != stored;
        if is_stale && is_changed(&form, name) {
            let problem = "somebody has changed the same setting meanwhile: yours was not saved. Load the page again";
            return Err(ApiError::conflict(problem).into());
        }
    }
    if update != UpdateProject::default() {
        visit
            .engine()
            .update_project(&visit.project, &update)
            .await?;
    }
    let page = reflect_console::in_project(visit.project.as_str(), &["settings"]);
    Ok(redirect(&format!("{page}?saved=1")))
}

/// What the visitor changed: a setting that the form does not have, or has as the page showed it, stays.
fn of_form(form: &Fields) -> Result<UpdateProject, ApiError> {
    Ok(UpdateProject {
        max_alpha: given(
            form,
            "max_alpha",
            "the largest alpha must be a number from 0 to 1",
        )?,
        max_memories: given(
            form,
            "max_memories",
            "the number of memories must be a whole one",
        )?,
        ranking: chosen::<Ranking>(form, "ranking"),
        approve: chosen::<Approval>(form, "approve"),
        control: given(
            form,
            "control",
            "the control arm must be a number from 0 to 1",
        )?,
        keep_personal_values: given(
            form,
            "keep_personal_values",
            "personal values must be `true` to keep them or `false`",
        )?,
    })
}

/// The value of a field; `Some(None)` for an empty one, which removes a limit.
#[expect(clippy::option_option, reason = "absent and empty are different")]
fn given<T: std::str::FromStr>(
    form: &Fields,
    name: &'static str,
    problem: &'static str,
) -> Result<Option<Option<T>>, ApiError> {
    if !is_changed(form, name) {
        return Ok(None);
    }
    match form.get(name).trim() {
        "" => Ok(Some(None)),
        text => {
            let value = text.parse().map_err(|_| ApiError::field(name, problem))?;
            Ok(Some(Some(value)))
        }
    }
}

fn is_changed(form: &Fields, name: &str) -> bool {
    let was = format!("was_{name}");
    form.has(name) && !(form.has(&was) && form.get(&was) == form.get(name).trim())
}

/// The choice of a field; `Some(None)` for the empty one.
#[expect(clippy::option_option, reason = "absent and empty are different")]
fn chosen<'a, T: From<&'a str>>(form: &'a Fields, name: &str) -> Option<Option<T>> {
    let text = is_changed(form, name).then(|| form.get(name).trim())?;
    Some((!text.is_empty()).then(|| T::from(text)))
}
