use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jiff::Timestamp;
use reflect_types::{
    ApiKey, CreateApiKey, CreatedApiKey, KeyId, ListApiKeys, ProjectId, RevokeApiKey,
};

use crate::access::{Access, KeyPath};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Body;
use crate::keys::Caller;
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
    let (keys, project) = (app.keys(), &access.project);
    let created = match access.caller.project() {
        None => keys.create(app.engine(), project, key).await?,
        Some(_) => keys
            .create_by(&access.caller, project, granted(&access.caller, key)?)
            .await?
            .ok_or_else(ApiError::unknown_key)?,
    };
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
    let (keys, caller) = (app.keys(), &access.caller);
    if *caller.key() != id {
        let key = keys.get(&access.project, &id).await?;
        let missing = caller.lacking(&key.scopes);
        if !missing.is_empty() {
            return Err(ApiError::stronger_key("revoke", &missing));
        }
        if caller.is_more_limited_than(&key) {
            return Err(ApiError::forbidden(
                "this key cannot revoke a key with a larger `max_alpha` or a later expiry than its own",
            ));
        }
    }
    Ok(Json(keys.revoke(Some(&access.project), &id).await?))
}

/// The key within the rights of the project key that creates it.
fn granted(creator: &Caller, mut key: CreateApiKey) -> Result<CreateApiKey, ApiError> {
    let missing = creator.lacking(&key.scopes);
    if !missing.is_empty() {
        return Err(ApiError::stronger_key("create", &missing));
    }
    if let Some(most) = creator.max_alpha() {
        let alpha = *key.max_alpha.get_or_insert(most);
        if alpha > most {
            return Err(ApiError::forbidden(format!(
                "the `max_alpha` of this key is {most}: it cannot create a key with {alpha}"
            )));
        }
    }
    if let Some(end) = creator.expires_at() {
        let given = key.expires_at.get_or_insert_with(|| end.to_owned());
        let (given, end) = (given.parse::<Timestamp>(), end.parse::<Timestamp>());
        // A time that cannot be read is refused as a field.
        if let (Ok(given), Ok(end)) = (given, end)
            && given > end
        {
            return Err(ApiError::forbidden(format!(
                "this key expires at {end}: it cannot create a key that expires later"
            )));
        }
    }
    Ok(key)
}
