use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use reflect_types::{
    ApiKey, CreateApiKey, CreatedApiKey, KeyId, ListApiKeys, ProjectId, RevokeApiKey,
};

use crate::access::{Access, KeyPath};
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
    access: Access<ListApiKeys>,
) -> Result<Json<Vec<ApiKey>>, ApiError> {
    Ok(Json(app.keys().list(Some(&access.project)).await?))
}

/// Creates a key for the project. A key can grant only scopes that it has.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/api-keys", operation_id = "create_api_key",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path)),
    request_body = CreateApiKey,
    responses(
        (status = 201, description = "The key, whose secret is shown only once", body = CreatedApiKey),
        Refusals,
    )
)]
pub(super) async fn create(
    State(app): State<App>,
    access: Access<CreateApiKey>,
    Body(key): Body<CreateApiKey>,
) -> Result<(StatusCode, Json<CreatedApiKey>), ApiError> {
    for scope in &key.scopes {
        access.require(scope.clone())?;
    }
    let (keys, project) = (app.keys(), &access.project);
    let created = match access.caller.project() {
        None => keys.create(app.engine(), project, key).await?,
        Some(_) => keys
            .create_by(&access.caller, project, key)
            .await?
            .ok_or_else(ApiError::unknown_key)?,
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Revokes a key. A repeated call changes nothing.
#[utoipa::path(
    post, path = "/v1/projects/{project_id}/api-keys/{key_id}/revoke", operation_id = "revoke_api_key",
    security(("key" = [])),
    params(("project_id" = ProjectId, Path), ("key_id" = KeyId, Path)),
    responses((status = 200, body = ApiKey), Refusals)
)]
pub(super) async fn revoke(
    State(app): State<App>,
    access: Access<RevokeApiKey>,
    KeyPath(id): KeyPath,
) -> Result<Json<ApiKey>, ApiError> {
    Ok(Json(app.keys().revoke(Some(&access.project), &id).await?))
}
