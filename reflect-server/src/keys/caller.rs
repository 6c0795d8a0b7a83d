use reflect_types::{ApiKey, KeyId, ProjectId, Scope};

use super::store::KeyRecord;

/// The holder of a key, with its rights.
#[derive(Clone, Debug)]
pub struct Caller {
    name: String,
    key: KeyId,
    reach: Reach,
    max_alpha: Option<f64>,
    expires_at: Option<String>,
}

#[derive(Clone, Debug)]
enum Reach {
    Everything,
    Project { id: ProjectId, scopes: Vec<Scope> },
}

impl Caller {
    /// The holder of the configured master key.
    pub(super) fn configured() -> Self {
        Self {
            name: KeyId::MASTER.to_owned(),
            key: KeyId::from(KeyId::MASTER),
            reach: Reach::Everything,
            max_alpha: None,
            expires_at: None,
        }
    }

    /// The holder of a stored key.
    pub(super) fn holding(record: &KeyRecord) -> Self {
        Self {
            name: record.key.public_id.clone(),
            key: record.key.id.clone(),
            reach: match &record.project {
                None => Reach::Everything,
                Some(id) => Reach::Project {
                    id: id.clone(),
                    scopes: record.key.scopes.clone(),
                },
            },
            max_alpha: record.key.max_alpha,
            expires_at: record.key.expires_at.clone(),
        }
    }

    /// The caller's name in logs and rate limits: the public id of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the key has a larger `max_alpha` or a later expiry than the caller's.
    pub(crate) fn is_more_limited_than(&self, key: &ApiKey) -> bool {
        let alpha = |most: f64| key.max_alpha.is_none_or(|alpha| alpha > most);
        // Stored times compare as texts.
        let expiry = |end: &String| key.expires_at.as_ref().is_none_or(|other| other > end);
        self.max_alpha.is_some_and(alpha) || self.expires_at.as_ref().is_some_and(expiry)
    }

    /// The id of the key: [`KeyId::MASTER`] for the configured master key.
    pub fn key(&self) -> &KeyId {
        &self.key
    }

    /// The project of the key; `None` for a master key.
    pub fn project(&self) -> Option<&ProjectId> {
        match &self.reach {
            Reach::Everything => None,
            Reach::Project { id, .. } => Some(id),
        }
    }

    /// Whether the key has access to the project.
    pub fn opens(&self, project: &ProjectId) -> bool {
        self.project().is_none_or(|own| own == project)
    }

    /// The largest `alpha` of a review with the key; `None` for any.
    pub fn max_alpha(&self) -> Option<f64> {
        self.max_alpha
    }

    /// When the key expires, in RFC 3339.
    pub fn expires_at(&self) -> Option<&str> {
        self.expires_at.as_deref()
    }

    /// The scopes that the key does not have.
    pub fn lacking<'a>(&self, scopes: &'a [Scope]) -> Vec<&'a Scope> {
        scopes.iter().filter(|scope| !self.may(scope)).collect()
    }

    /// Whether the key has the scope.
    pub fn may(&self, scope: &Scope) -> bool {
        match &self.reach {
            Reach::Everything => true,
            Reach::Project { scopes, .. } => scopes.iter().any(|held| held.includes(scope)),
        }
    }
}
