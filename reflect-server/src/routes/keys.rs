use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use reflect_types::{ApiKey, CreateApiKey, CreatedApiKey, ListApiKeys, RevokeApiKey};

use crate::access::{Access, KeyPath};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Body;
use crate::key_grants;

pub(super) async fn list(
    State(app): State<App>,
    access: Access<ListApiKeys>,
) -> Result<Json<Vec<ApiKey>>, ApiError> {
    Ok(Json(app.keys().list(Some(&access.project)).await?))
}

pub(super) async fn create(
    State(app): State<App>,
    access: Access<CreateApiKey>,
    Body(key): Body<CreateApiKey>,
) -> Result<(StatusCode, Json<CreatedApiKey>), ApiError> {
    let created = key_grants::create(&app, &access.caller, &access.project, key).await?;
    Ok((StatusCode::CREATED, Json(created)))
}

pub(super) async fn revoke(
    State(app): State<App>,
    access: Access<RevokeApiKey>,
    KeyPath(id): KeyPath,
) -> Result<Json<ApiKey>, ApiError> {
    let revoked = key_grants::revoke(&app, &access.caller, &access.project, &id).await?;
    Ok(Json(revoked))
}
