//! The project's keys.

use axum::response::Response;
use jiff::{SignedDuration, Timestamp};
use reflect_console::{KeysPage, in_project};
use reflect_types::{CreateApiKey, CreatedApiKey, KeyId, ListApiKeys, RevokeApiKey, Scope};

use super::answer::{Problem, page, redirect};
use super::form::Fields;
use super::visit::{Change, Visit};
use crate::error::ApiError;
use crate::key_grants;

/// The list, with a form for a new key.
pub(super) async fn list(visit: Visit) -> Result<Response, Problem> {
    visit.require::<ListApiKeys>()?;
    shown(&visit, None).await
}

/// Creates a key and shows it, this once.
pub(super) async fn create(change: Change) -> Result<Response, Problem> {
    let Change { visit, form } = change;
    visit.require::<CreateApiKey>()?;
    let key = new_key(&form)?;
    let created = key_grants::create(&visit.app, &visit.caller, &visit.project, key).await?;
    shown(&visit, Some(&created)).await
}

/// Revokes a key.
pub(super) async fn revoke(change: Change) -> Result<Response, Problem> {
    let visit = change.visit;
    visit.require::<RevokeApiKey>()?;
    let id = KeyId::new(visit.segment("key_id"));
    key_grants::revoke(&visit.app, &visit.caller, &visit.project, &id).await?;
    Ok(redirect(&in_project(visit.project.as_str(), &["keys"])))
}

async fn shown(visit: &Visit, created: Option<&CreatedApiKey>) -> Result<Response, Problem> {
    let keys = visit.app.keys().list(Some(&visit.project)).await?;
    let grantable: Vec<Scope> = Scope::KNOWN
        .iter()
        .filter(|scope| visit.caller.may(scope))
        .cloned()
        .collect();
    let frame = visit.frame().await?;
    let own = visit.caller.key();
    let now = Timestamp::now();
    Ok(page(&KeysPage::new(
        frame, &keys, own, &grantable, created, now,
    )))
}

/// The key that a form describes.
fn new_key(form: &Fields) -> Result<CreateApiKey, ApiError> {
    let expires_at = match form.get("days") {
        "" => None,
        days => {
            let days: i64 = days
                .parse()
                .map_err(|_| ApiError::field("days", "the expiry must be a number of days"))?;
            let time = SignedDuration::try_from_hours(days.saturating_mul(24));
            let end = time.and_then(|time| Timestamp::now().checked_add(time).ok());
            let end =
                end.ok_or_else(|| ApiError::field("days", "the expiry is too far in the future"))?;
            Some(end.to_string())
        }
    };
    let max_alpha = match form.get("max_alpha") {
        "" => None,
        alpha => Some(alpha.parse().map_err(|_| {
            ApiError::field(
                "max_alpha",
                "the largest alpha must be a number from 0 to 1",
            )
        })?),
    };
    let scopes: Vec<Scope> = form.all("scope").map(Scope::from).collect();
    if scopes.is_empty() {
        let problem = "choose what the key may do: at least one scope";
        return Err(ApiError::field("scope", problem));
    }
    Ok(CreateApiKey {
        scopes,
        expires_at,
        max_alpha,
        ..CreateApiKey::new(form.get("label").trim())
    })
}
