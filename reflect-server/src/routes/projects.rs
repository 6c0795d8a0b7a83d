use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use reflect_types::{
    BOOTSTRAP_TOKEN, Bootstrap, Bootstrapped, DeleteProject, DeletedProject, GetReport,
    GetSettings, GetStats, ProjectSettings, ProjectSummary, Report, Stats, UpdateProject,
};
use secrecy::ExposeSecret as _;

use crate::access::{Access, AnyKey};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Body, Params};
use crate::keys::SecretHash;

pub(super) async fn bootstrap(
    State(app): State<App>,
    _: BootstrapToken,
    Body(request): Body<Bootstrap>,
) -> Result<(StatusCode, Json<Bootstrapped>), ApiError> {
    let created = app.keys().bootstrap(app.engine(), request).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

pub(super) async fn list(
    State(app): State<App>,
    AnyKey(caller): AnyKey,
) -> Result<Json<Vec<ProjectSummary>>, ApiError> {
    let projects = app.engine().summarize_projects(caller.project()).await?;
    Ok(Json(projects))
}

pub(super) async fn settings(
    State(app): State<App>,
    access: Access<GetSettings>,
) -> Result<Json<ProjectSettings>, ApiError> {
    Ok(Json(app.engine().settings(&access.project).await?))
}

pub(super) async fn update(
    State(app): State<App>,
    access: Access<UpdateProject>,
    Body(update): Body<UpdateProject>,
) -> Result<Json<ProjectSummary>, ApiError> {
    let engine = access.engine(&app);
    Ok(Json(engine.update_project(&access.project, &update).await?))
}

pub(super) async fn stats(
    State(app): State<App>,
    access: Access<GetStats>,
) -> Result<Json<Stats>, ApiError> {
    Ok(Json(app.engine().stats(&access.project).await?))
}

pub(super) async fn report(
    State(app): State<App>,
    access: Access<GetReport>,
    Params(get): Params<GetReport>,
) -> Result<Json<Report>, ApiError> {
    Ok(Json(app.engine().report(&access.project, &get).await?))
}

pub(super) async fn delete(
    State(app): State<App>,
    access: Access<DeleteProject>,
) -> Result<Json<DeletedProject>, ApiError> {
    // The keys go last, so that an interrupted deletion can be repeated with the same key. Requests
    // of these keys meanwhile do not recreate the project: see `Access::engine`.
    let mut deleted = app.engine().delete_project(&access.project).await?;
    deleted.deleted |= app.keys().delete_project(&access.project).await?;
    Ok(Json(deleted))
}

/// Proof that the caller holds the bootstrap token.
#[derive(Debug)]
pub(super) struct BootstrapToken;

impl axum::extract::FromRequestParts<App> for BootstrapToken {
    type Rejection = ApiError;

    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        app: &App,
    ) -> Result<Self, ApiError> {
        let Some(token) = &app.settings().bootstrap_token else {
            return Err(ApiError::forbidden(
                "bootstrap is disabled: start the server with a bootstrap token, or create keys with \
                 the master key",
            ));
        };
        let missing = || {
            ApiError::unauthorized(format!(
                "this needs the server's bootstrap token in `{BOOTSTRAP_TOKEN}`"
            ))
        };
        let given = given(&parts.headers).ok_or_else(missing)?;
        let attempt = app
            .begin_attempt(parts)
            .map_err(ApiError::too_many_failures)?;
        let expected = SecretHash::of(token.expose_secret());
        if !SecretHash::of(given).matches(&expected) {
            return Err(missing());
        }
        attempt.forgive();
        // Last, so that strangers cannot use up the limit of the token's holder.
        app.rate().admit("bootstrap")?;
        Ok(Self)
    }
}

fn given(headers: &HeaderMap) -> Option<&str> {
    headers.get(BOOTSTRAP_TOKEN)?.to_str().ok()
}
