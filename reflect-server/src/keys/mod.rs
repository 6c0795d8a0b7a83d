//! API keys: creation, authentication and revocation.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reflect_engine::{Engine, Error, Result};
use reflect_types::{
    ApiKey, Bootstrap, Bootstrapped, CreateApiKey, CreatedApiKey, KeyId, KeyStatus, ProjectId,
    Scope, Validate as _,
};
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

mod caller;
mod sqlite;
mod store;
mod text;

#[cfg(test)]
mod tests;

pub use caller::Caller;
pub use sqlite::Sqlite;
pub use store::{KeyRecord, KeyStore};
pub use text::{KeyText, SecretHash};

/// How long a lookup is cached. A key that another process revokes stays valid for at most this long;
/// one that this process revokes is refused at once.
const KEY_CACHE_TTL: Duration = Duration::from_secs(1);

/// The keys of a server. Clones share their state.
#[derive(Clone)]
pub struct Keys {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn KeyStore>,
    /// The hash of the configured master key's text.
    configured: Option<SecretHash>,
    /// Recent lookups, by public id.
    cache: Mutex<HashMap<String, (Instant, KeyRecord)>>,
    /// Counts invalidations of the cache, so that an older lookup is not cached.
    invalidations: AtomicU64,
    /// Last uses that are not stored yet. They are written in batches: a write per request would cost
    /// more than the request.
    uses: Mutex<HashMap<KeyId, Timestamp>>,
}

impl Keys {
    /// The keys in a store, and optionally a configured master key.
    pub fn new(store: Arc<dyn KeyStore>, master: Option<&SecretString>) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                configured: master.map(|key| SecretHash::of(key.expose_secret())),
                cache: Mutex::default(),
                invalidations: AtomicU64::default(),
                uses: Mutex::default(),
            }),
        }
    }

    /// Creates a master key if neither the configuration nor the store has one. Its text cannot be
    /// recovered later.
    pub async fn ensure_master(&self) -> Result<Option<CreatedApiKey>> {
        if self.shared.configured.is_some() {
            return Ok(None);
        }
        let masters = self.shared.store.list(None).await?;
        if masters
            .iter()
            .any(|record| record.key.status == KeyStatus::Active)
        {
            return Ok(None);
        }
        self.create_master("Master key").await.map(Some)
    }

    /// Creates a key that opens every project.
    pub async fn create_master(&self, label: &str) -> Result<CreatedApiKey> {
        let create = CreateApiKey {
            scopes: Scope::KNOWN.to_vec(),
            ..CreateApiKey::new(label)
        };
        self.insert(None, create, None).await
    }

    /// The caller with this key; `None` if the key is unknown or revoked.
    pub async fn recognise(&self, text: &str) -> Result<Option<Caller>> {
        if let Some(configured) = &self.shared.configured
            && configured.matches(&SecretHash::of(text))
        {
            return Ok(Some(Caller::configured()));
        }
        let Some(presented) = KeyText::parse(text) else {
            return Ok(None);
        };
        let Some(record) = self.find(&presented.public_id).await? else {
            return Ok(None);
        };
        let holds = record.hash.matches(&presented.hash())
            && record.key.environment == presented.environment
            && record.key.status == KeyStatus::Active;
        if !holds {
            return Ok(None);
        }
        let mut uses = lock(&self.shared.uses);
        uses.insert(record.key.id.clone(), Timestamp::now());
        Ok(Some(Caller::holding(&record)))
    }

    /// Creates a key for a project, and the project if it does not exist: a project key cannot.
    pub async fn create(
        &self,
        engine: &Engine,
        project: &ProjectId,
        create: CreateApiKey,
    ) -> Result<CreatedApiKey> {
        let (record, created) = new_key(Some(project), create, None)?;
        // First, because the id of a new project may be refused.
        engine.create_project(project).await?;
        self.shared.store.insert(record).await?;
        Ok(created)
    }

    /// Creates a key with another key of the same project; `None` if that one was revoked or deleted
    /// meanwhile.
    pub async fn create_by(
        &self,
        creator: &Caller,
        project: &ProjectId,
        create: CreateApiKey,
    ) -> Result<Option<CreatedApiKey>> {
        let (record, created) = new_key(Some(project), create, None)?;
        let stored = self.shared.store.insert_by(creator.name(), record).await?;
        Ok(stored.then_some(created))
    }

    /// Creates the missing projects of existing keys, as after a crash between the two.
    pub async fn ensure_projects(&self, engine: &Engine) -> Result<()> {
        let existing = engine.list_projects().await?;
        for project in self.shared.store.projects().await? {
            if !existing.contains(&project) {
                match engine.create_project(&project).await {
                    // A key of an earlier version, whose project was never written to.
                    Err(Error::Invalid(error)) => tracing::warn!(%error, "a key opens no project"),
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
            label: request.key_label,
            scopes: Scope::KNOWN.to_vec(),
            environment: request.environment,
        };
        let owner = Some(request.user_id.clone());
        let (record, created) = new_key(Some(&request.project_id), create, owner)?;
        if !self.shared.store.insert_first(record).await? {
            return Err(project_exists(&request.project_id));
        }
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

    /// Revokes a key of a project, or a master key (`None`).
    pub async fn revoke(&self, project: Option<&ProjectId>, id: &KeyId) -> Result<ApiKey> {
        validate(project)?;
        id.validate()?;
        let now = text(Timestamp::now());
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
        let texts = uses.iter().map(|(id, at)| (id.clone(), text(*at)));
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

    async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>> {
        if let Some((at, record)) = lock(&self.shared.cache).get(public_id)
            && at.elapsed() < KEY_CACHE_TTL
        {
            return Ok(Some(record.clone()));
        }
        let (started, invalidations) = (Instant::now(), self.invalidations());
        let found = self.shared.store.find(public_id).await?;
        let mut cache = lock(&self.shared.cache);
        cache.retain(|_, (at, _)| at.elapsed() < KEY_CACHE_TTL);
        if let Some(record) = &found
            && invalidations == self.invalidations()
        {
            cache.insert(public_id.to_owned(), (started, record.clone()));
        }
        Ok(found)
    }

    /// The key with its last use, which may not be stored yet.
    fn with_last_use(&self, record: KeyRecord) -> ApiKey {
        let mut key = record.key;
        if let Some(at) = lock(&self.shared.uses).get(&key.id) {
            key.last_used_at = Some(text(*at));
        }
        key
    }

    /// Removes revoked and deleted keys from the cache.
    fn invalidate(&self, is_stale: impl Fn(&KeyRecord) -> bool) {
        let mut cache = lock(&self.shared.cache);
        self.shared.invalidations.fetch_add(1, Ordering::SeqCst);
        cache.retain(|_, (_, record)| !is_stale(record));
    }

    fn invalidations(&self) -> u64 {
        self.shared.invalidations.load(Ordering::SeqCst)
    }

    async fn insert(
        &self,
        project: Option<&ProjectId>,
        create: CreateApiKey,
        owner: Option<String>,
    ) -> Result<CreatedApiKey> {
        let (record, created) = new_key(project, create, owner)?;
        self.shared.store.insert(record).await?;
        Ok(created)
    }
}

fn project_exists(project: &ProjectId) -> Error {
    Error::Conflict(format!(
        "project `{project}` exists already: ask the owner of one of its keys, or of the master \
         key, for a key"
    ))
}

/// A key with a new secret: the record to store, and the key to show once.
fn new_key(
    project: Option<&ProjectId>,
    create: CreateApiKey,
    owner: Option<String>,
) -> Result<(KeyRecord, CreatedApiKey)> {
    validate(project)?;
    create.validate()?;
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
        created_at: Some(text(Timestamp::now())),
        last_used_at: None,
        revoked_at: None,
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

fn text(time: Timestamp) -> String {
    format!("{time:.3}")
}
