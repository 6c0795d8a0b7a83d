//! Creating and revoking keys within the rights of a caller's key.

use jiff::Timestamp;
use reflect_types::{ApiKey, CreateApiKey, CreatedApiKey, KeyId, ProjectId};

use crate::app::App;
use crate::error::ApiError;
use crate::keys::Caller;

/// Creates a key for a project. A project key grants only scopes that it has, and its expiry and largest
/// `alpha` bound those of the new key.
pub(crate) async fn create(
    app: &App,
    caller: &Caller,
    project: &ProjectId,
    key: CreateApiKey,
) -> Result<CreatedApiKey, ApiError> {
    let keys = app.keys();
    match caller.project() {
        None => Ok(keys.create(app.engine(), project, key).await?),
        Some(_) => keys
            .create_by(caller, project, granted(caller, key)?)
            .await?
            .ok_or_else(ApiError::unknown_key),
    }
}

/// Revokes a key. A project key revokes itself, and keys that have no scope that it has not.
pub(crate) async fn revoke(
    app: &App,
    caller: &Caller,
    project: &ProjectId,
    id: &KeyId,
) -> Result<ApiKey, ApiError> {
    let keys = app.keys();
    if caller.key() != id {
        let key = keys.get(project, id).await?;
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
    Ok(keys.revoke(Some(project), id).await?)
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
