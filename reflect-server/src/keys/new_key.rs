use jiff::Timestamp;
use reflect_engine::{Error, Result};
use reflect_types::{
    ApiKey, CreateApiKey, CreatedApiKey, InvalidField, KeyId, KeyStatus, ProjectId, Validate as _,
};
use uuid::Uuid;

use super::store::KeyRecord;
use super::text::KeyText;
use super::time;

/// A key with a new secret: the record to store, and the key to show once.
pub(super) fn new_key(
    project: Option<&ProjectId>,
    create: CreateApiKey,
    owner: Option<String>,
) -> Result<(KeyRecord, CreatedApiKey)> {
    project.map_or(Ok(()), ProjectId::validate)?;
    create.validate()?;
    let now = Timestamp::now();
    let expires_at = create.expires_at.map(|text| expiry(&text, now));
    let key = KeyText::generate(create.environment.clone())
        .map_err(|error| Error::internal("the system provides no random numbers", error))?;
    let mut scopes = Vec::new();
    for scope in create.scopes {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    let listed = ApiKey {
        id: KeyId::new(Uuid::now_v7().to_string()),
        public_id: key.public_id.clone(),
        label: create.label,
        scopes,
        environment: create.environment,
        status: KeyStatus::Active,
        is_master: project.is_none(),
        created_at: Some(time::text(now)),
        last_used_at: None,
        revoked_at: None,
        expires_at: expires_at.transpose()?,
        max_alpha: create.max_alpha,
        created_by: None,
    };
    let record = KeyRecord {
        key: listed.clone(),
        project: project.cloned(),
        owner,
        hash: key.hash(),
    };
    let created = CreatedApiKey {
        api_key: key.reveal(),
        key: listed,
    };
    Ok((record, created))
}

/// The time of expiry as it is stored, in UTC.
fn expiry(given: &str, now: Timestamp) -> Result<String, InvalidField> {
    let invalid = |problem: String| InvalidField::new("expires_at", problem);
    let at: Timestamp = given.parse().map_err(|_| {
        invalid("must be a time in RFC 3339, such as `2027-01-31T00:00:00Z`".to_owned())
    })?;
    if at <= now {
        return Err(invalid(format!("must be in the future, got {at}")));
    }
    Ok(time::text(at))
}
