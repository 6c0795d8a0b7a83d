use reflect_types::{KeyId, ProjectId, Scope};

use super::store::KeyRecord;

/// The holder of a key, with its rights.
#[derive(Clone, Debug)]
pub struct Caller {
    name: String,
    key: Option<KeyId>,
    reach: Reach,
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
            name: "master".to_owned(),
            key: None,
            reach: Reach::Everything,
        }
    }

    /// The holder of a stored key.
    pub(super) fn holding(record: &KeyRecord) -> Self {
        Self {
            name: record.key.public_id.clone(),
            key: Some(record.key.id.clone()),
            reach: match &record.project {
                None => Reach::Everything,
                Some(id) => Reach::Project {
                    id: id.clone(),
                    scopes: record.key.scopes.clone(),
                },
            },
        }
    }

    /// The caller's name in logs and rate limits: the public id of the key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id of the key; `None` for the configured master key, which has none.
    pub fn key(&self) -> Option<&KeyId> {
        self.key.as_ref()
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

    /// Whether the key has the scope.
    pub fn may(&self, scope: &Scope) -> bool {
        match &self.reach {
            Reach::Everything => true,
            Reach::Project { scopes, .. } => scopes.iter().any(|held| held.includes(scope)),
        }
    }
}
