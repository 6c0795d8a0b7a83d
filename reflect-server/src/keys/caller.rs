use reflect_types::{ProjectId, Scope};

use super::store::KeyRecord;

/// Who makes a request, as far as their key says.
#[derive(Clone, Debug)]
pub struct Caller {
    name: String,
    reach: Reach,
}

#[derive(Clone, Debug)]
enum Reach {
    Everything,
    Project { id: ProjectId, scopes: Vec<Scope> },
}

impl Caller {
    /// The holder of the master key in the configuration.
    pub(super) fn configured() -> Self {
        Self {
            name: "master".to_owned(),
            reach: Reach::Everything,
        }
    }

    /// The holder of a stored key.
    pub(super) fn holding(record: &KeyRecord) -> Self {
        Self {
            name: record.key.public_id.clone(),
            reach: match &record.project {
                None => Reach::Everything,
                Some(id) => Reach::Project {
                    id: id.clone(),
                    scopes: record.key.scopes.clone(),
                },
            },
        }
    }

    /// What logs and limits know the caller by: never the secret.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The one project the key opens; `None` for a master key.
    pub fn project(&self) -> Option<&ProjectId> {
        match &self.reach {
            Reach::Everything => None,
            Reach::Project { id, .. } => Some(id),
        }
    }

    /// Whether the key opens the project at all.
    pub fn opens(&self, project: &ProjectId) -> bool {
        self.project().is_none_or(|own| own == project)
    }

    /// Whether the key may do this where it opens anything.
    pub fn may(&self, scope: &Scope) -> bool {
        match &self.reach {
            Reach::Everything => true,
            Reach::Project { scopes, .. } => scopes.contains(scope),
        }
    }
}
