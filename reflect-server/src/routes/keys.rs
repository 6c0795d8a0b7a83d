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
use crate::key_grants;
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

/// Creates a key for the project. A project key grants only scopes that it has, and its expiry and
/// largest `alpha` bound those of the new key.
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
    let created = key_grants::create(&app, &access.caller, &access.project, key).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// Revokes a key. A repeated call changes nothing. A project key revokes itself, and keys that it could have
/// created: without a scope that it has not, a larger `max_alpha` or a later expiry. Keys that the revoked one
/// created stay valid; their `created_by` names it.
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
    let revoked = key_grants::revoke(&app, &access.caller, &access.project, &id).await?;
    Ok(Json(revoked))
}
