use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use reflect_engine::Result;
use reflect_types::{KeyId, KeyStatus, ProjectId};

use super::store::{KeyRecord, KeyStore};

/// Stores keys in memory.
#[derive(Debug, Default)]
pub struct InMemory {
    keys: Mutex<Vec<KeyRecord>>,
}

impl InMemory {
    /// A store without keys.
    pub fn new() -> Self {
        Self::default()
    }

    fn keys(&self) -> MutexGuard<'_, Vec<KeyRecord>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl KeyStore for InMemory {
    async fn insert(&self, key: KeyRecord) -> Result<()> {
        self.keys().push(key);
        Ok(())
    }

    async fn insert_first(&self, key: KeyRecord) -> Result<bool> {
        let mut keys = self.keys();
        let is_first = keys.iter().all(|known| known.project != key.project);
        if is_first {
            keys.push(key);
        }
        Ok(is_first)
    }

    async fn insert_by(&self, creator: &str, key: KeyRecord) -> Result<bool> {
        let mut keys = self.keys();
        let holds = keys.iter().any(|known| {
            known.key.public_id == creator
                && known.project == key.project
                && known.key.status == KeyStatus::Active
        });
        if holds {
            keys.push(key);
        }
        Ok(holds)
    }

    async fn projects(&self) -> Result<Vec<ProjectId>> {
        let keys = self.keys();
        let projects: BTreeSet<_> = keys.iter().filter_map(|k| k.project.clone()).collect();
        Ok(projects.into_iter().collect())
    }

    async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>> {
        let keys = self.keys();
        Ok(keys.iter().find(|k| k.key.public_id == public_id).cloned())
    }

    async fn list(&self, project: Option<&ProjectId>) -> Result<Vec<KeyRecord>> {
        let keys = self.keys();
        let of_project = keys.iter().filter(|k| k.project.as_ref() == project);
        Ok(of_project.cloned().collect())
    }

    async fn revoke(
        &self,
        project: Option<&ProjectId>,
        id: &KeyId,
        now: &str,
    ) -> Result<Option<KeyRecord>> {
        let mut keys = self.keys();
        let found = keys
            .iter_mut()
            .find(|k| k.key.id == *id && k.project.as_ref() == project);
        Ok(found.map(|record| {
            if record.key.status != KeyStatus::Revoked {
                record.key.status = KeyStatus::Revoked;
                record.key.revoked_at = Some(now.to_owned());
            }
            record.clone()
        }))
    }

    async fn touch(&self, uses: Vec<(KeyId, String)>) -> Result<()> {
        let mut keys = self.keys();
        for (id, at) in uses {
            if let Some(record) = keys.iter_mut().find(|k| k.key.id == id) {
                record.key.last_used_at = Some(at);
            }
        }
        Ok(())
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        let mut keys = self.keys();
        let before = keys.len();
        keys.retain(|k| k.project.as_ref() != Some(project));
        Ok(keys.len() < before)
    }
}
