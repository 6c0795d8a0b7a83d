//! API keys: creation, authentication and revocation.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_trait::async_trait;
use jiff::Timestamp;
use reflect_engine::{Engine, Error, KeyLimits, Result};
use reflect_types::{
    ApiKey, Bootstrap, Bootstrapped, CreateApiKey, CreatedApiKey, KeyId, ProjectId, Scope,
    Validate as _,
};
use secrecy::{ExposeSecret, SecretString};

mod caller;
mod new_key;
#[cfg(feature = "postgres")]
mod postgres;
mod recognition;
mod sql;
mod sqlite;
mod store;
mod strength;
mod text;
mod time;

#[cfg(test)]
mod tests;

use new_key::new_key;

pub use caller::Caller;
pub use recognition::Recognition;
pub use store::{KeyRecord, KeyStore};
pub use strength::{WeakSecret, check_strength};
pub use text::{KeyText, SecretHash};
pub use time::{has_expired, is_valid};

/// The keys of a server. Clones share their state.
#[derive(Clone)]
pub struct Keys {
    shared: Arc<Shared>,
}

struct Shared {
    store: KeyStore,
    /// The hash of the configured master key's text.
    configured: Option<SecretHash>,
    /// Recent lookups, by public id.
    cache: Mutex<HashMap<String, (Instant, KeyRecord)>>,
    /// Counts invalidations of the cache, so that an older lookup is not cached.
    invalidations: AtomicU64,
    /// Last uses that are not stored yet. They are written in batches: a write per request would cost
    /// more than the request.
    uses: Mutex<HashMap<KeyId, Timestamp>>,
    /// The public ids of the store, read where unknown keys are presented too often to look up each.
    listed: tokio::sync::Mutex<Option<(Instant, HashSet<String>)>>,
}

impl Keys {
    /// The keys in a store, and optionally a configured master key.
    pub fn new(store: KeyStore, master: Option<&SecretString>) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                configured: master.map(|key| SecretHash::of(key.expose_secret())),
                cache: Mutex::default(),
                invalidations: AtomicU64::default(),
                uses: Mutex::default(),
                listed: tokio::sync::Mutex::default(),
            }),
        }
    }

    /// Creates a master key if neither the configuration nor the store has one. Its text cannot be
    /// recovered later.
    pub async fn ensure_master(&self) -> Result<Option<CreatedApiKey>> {
        if self.shared.configured.is_some() {
            return Ok(None);
        }
        let create = CreateApiKey {
            scopes: Scope::KNOWN.to_vec(),
            ..CreateApiKey::new("Master key")
        };
        let (record, created) = new_key(None, create, None)?;
        // By the store, because several servers may start at once.
        let stored = self.shared.store.insert_if_none_is_valid(record).await?;
        self.relist().await;
        Ok(stored.then_some(created))
    }

    /// Creates a key that opens every project, with every scope.
    pub async fn create_master(&self, create: CreateApiKey) -> Result<CreatedApiKey> {
        let create = CreateApiKey {
            scopes: Scope::KNOWN.to_vec(),
            ..create
        };
        self.insert(None, create, None).await
    }

    /// Creates a key for a project, and the project if it does not exist: a project key cannot.
    pub async fn create(
        &self,
        engine: &Engine,
        project: &ProjectId,
        create: CreateApiKey,
    ) -> Result<CreatedApiKey> {
        create.validate()?;
        // First, because the id of a new project may be refused.
        engine.create_project(project).await?;
        self.insert(Some(project), create, None).await
    }

    /// Creates a key with another key of the same project; `None` if that one was revoked or deleted
    /// meanwhile.
    pub async fn create_by(
        &self,
        creator: &Caller,
        project: &ProjectId,
        create: CreateApiKey,
    ) -> Result<Option<CreatedApiKey>> {
        let (mut record, mut created) = new_key(Some(project), create, None)?;
        record.key.created_by = Some(creator.key().clone());
        created.key.created_by.clone_from(&record.key.created_by);
        let stored = self.shared.store.insert_by(creator.name(), record).await?;
        self.relist().await;
        Ok(stored.then_some(created))
    }

    /// Creates the missing projects of existing keys, as after a crash between the two.
    pub async fn ensure_projects(&self, engine: &Engine) -> Result<()> {
        let existing = engine.list_projects().await?;
        for project in self.shared.store.projects().await? {
            if !existing.contains(&project) {
                match engine.create_project(&project).await {
                    // A key of an earlier version, whose project was never written to.
                    Err(Error::Invalid(error)) => {
                        tracing::warn!(%error, "the project of a key cannot be created");
                    }
                    created => created?,
                }
            }
        }
        Ok(())
    }

    /// Creates a project and its first key, with every scope. A project that exists or has had a key is
    /// a conflict.
    pub async fn bootstrap(&self, engine: &Engine, request: Bootstrap) -> Result<Bootstrapped> {
        request.validate()?;
        if engine.list_projects().await?.contains(&request.project_id) {
            return Err(project_exists(&request.project_id));
        }
        let create = CreateApiKey {
            scopes: Scope::KNOWN.to_vec(),
            environment: request.environment,
            ..CreateApiKey::new(request.key_label)
        };
        let owner = Some(request.user_id.clone());
        let (record, created) = new_key(Some(&request.project_id), create, owner)?;
        if !self.shared.store.insert_first(record).await? {
            return Err(project_exists(&request.project_id));
        }
        self.relist().await;
        engine.create_project(&request.project_id).await?;
        Ok(Bootstrapped {
            user_id: request.user_id,
            project_id: request.project_id,
            api_key: created.api_key,
        })
    }

    /// The keys of a project, or the master keys (`None`), oldest first.
    pub async fn list(&self, project: Option<&ProjectId>) -> Result<Vec<ApiKey>> {
        validate(project)?;
        let records = self.shared.store.list(project).await?;
        Ok(records
            .into_iter()
            .map(|record| self.with_last_use(record))
            .collect())
    }

    /// A key of a project.
    pub async fn get(&self, project: &ProjectId, id: &KeyId) -> Result<ApiKey> {
        let keys = self.list(Some(project)).await?;
        let key = keys.into_iter().find(|key| key.id == *id);
        key.ok_or_else(|| Error::not_found("key", id.as_str()))
    }

    /// Revokes a key of a project, or a master key (`None`).
    pub async fn revoke(&self, project: Option<&ProjectId>, id: &KeyId) -> Result<ApiKey> {
        validate(project)?;
        id.validate()?;
        let now = time::text(Timestamp::now());
        let revoked = self.shared.store.revoke(project, id, &now).await?;
        let record = revoked.ok_or_else(|| Error::not_found("key", id.as_str()))?;
        self.invalidate(|known| known.key.id == record.key.id);
        Ok(self.with_last_use(record))
    }

    /// Deletes all keys of a project; returns whether there were any.
    pub async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        let deleted = self.shared.store.delete_project(project).await?;
        self.invalidate(|known| known.project.as_ref() == Some(project));
        Ok(deleted)
    }

    /// Stores the last use of keys.
    pub async fn flush(&self) -> Result<()> {
        let uses = std::mem::take(&mut *lock(&self.shared.uses));
        if uses.is_empty() {
            return Ok(());
        }
        let texts = uses.iter().map(|(id, at)| (id.clone(), time::text(*at)));
        let written = self.shared.store.touch(texts.collect()).await;
        if written.is_err() {
            // Retried by the next flush, unless a key was used again meanwhile.
            let mut later = lock(&self.shared.uses);
            for (id, at) in uses {
                later.entry(id).or_insert(at);
            }
        }
        written
    }

    /// The key with its last use, which may not be stored yet.
    fn with_last_use(&self, record: KeyRecord) -> ApiKey {
        let mut key = record.key;
        if let Some(at) = lock(&self.shared.uses).get(&key.id) {
            key.last_used_at = Some(time::text(*at));
        }
        key
    }

    async fn insert(
        &self,
        project: Option<&ProjectId>,
        create: CreateApiKey,
        owner: Option<String>,
    ) -> Result<CreatedApiKey> {
        let (record, created) = new_key(project, create, owner)?;
        self.shared.store.insert(record).await?;
        self.relist().await;
        Ok(created)
    }

    /// Has the public ids read again, because there is a new one.
    async fn relist(&self) {
        *self.shared.listed.lock().await = None;
    }
}

#[async_trait]
impl KeyLimits for Keys {
    async fn max_alpha(&self, key: &KeyId) -> Result<Option<f64>> {
        self.shared.store.max_alpha(key).await
    }
}

fn project_exists(project: &ProjectId) -> Error {
    Error::Conflict(format!(
        "project `{project}` exists already: ask the owner of one of its keys, or of the master \
         key, for a key"
    ))
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

fn validate(project: Option<&ProjectId>) -> Result<()> {
    Ok(project.map_or(Ok(()), ProjectId::validate)?)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
