use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use reflect_types::{ApiKey, CreateApiKey, CreatedApiKey, KeyId, ProjectId};

use crate::access::{In, InKey, KeyAdmin};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Body;
use crate::openapi::Refusals;

/// The project's keys, without their secrets, oldest first.
#[utoipa::path(
    get, path = "/v1/projects/{project_id}/api-keys", operation_id = "list_api_keys",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    responses((status = 200, body = Vec<ApiKey>), Refusals)
)]
pub(super) async fn list(
    State(app): State<App>,
    access: In<KeyAdmin>,
) -> Result<Json<Vec<ApiKey>>, ApiError> {
    Ok(Json(app.keys().list(Some(&access.project)).await?))
}

/// Makes a key for the project. A key can give another only what it may do itself.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/api-keys", operation_id = "create_api_key",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body = CreateApiKey,
    responses(
        (status = 201, description = "The key, shown this once", body = CreatedApiKey),
        Refusals,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    access: In<KeyAdmin>,
    Body(key): Body<CreateApiKey>,
) -> Result<(StatusCode, Json<CreatedApiKey>), ApiError> {
    for scope in &key.scopes {
        access.require(scope.clone())?;
    }
    let (keys, project) = (app.keys(), &access.project);
    let made = match access.caller.project() {
        None => keys.create(app.engine(), project, key).await?,
        Some(_) => keys
            .create_by(&access.caller, project, key)
            .await?
            .ok_or_else(ApiError::unknown_key)?,
    };
    Ok((StatusCode::CREATED, Json(made)))
}

/// Ends a key. Ending it again changes nothing.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/api-keys/{key_id}/revoke", operation_id = "revoke_api_key",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("key_id" = KeyId, Path)),
    responses((status = 200, body = ApiKey), Refusals)
)]
pub(super) async fn revoke(
    State(app): State<App>,
    access: In<KeyAdmin>,
    InKey(id): InKey,
) -> Result<Json<ApiKey>, ApiError> {
    Ok(Json(app.keys().revoke(Some(&access.project), &id).await?))
}
