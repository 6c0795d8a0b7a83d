//! Who may do what: keys, made, recognised and ended.

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
mod memory;
mod sqlite;
mod store;
mod text;

#[cfg(test)]
mod tests;

pub use caller::Caller;
pub use memory::InMemory;
pub use sqlite::Sqlite;
pub use store::{KeyRecord, KeyStore};
pub use text::{KeyText, SecretHash};

/// How long a key that was looked up is believed. One that another process ends opens things for
/// this long at the most; one that this process ends is refused at once.
const BELIEVED: Duration = Duration::from_secs(1);

/// The keys of a server. Clones share them.
#[derive(Clone)]
pub struct Keys {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn KeyStore>,
    /// The hash of the whole text of the master key that the configuration names.
    configured: Option<SecretHash>,
    recent: Mutex<HashMap<String, (Instant, KeyRecord)>>,
    /// Counts what made `recent` untrue, so that a look-up that began before is not kept.
    endings: AtomicU64,
    /// When keys were used, to be written together: a write per request would cost more than the
    /// request.
    uses: Mutex<HashMap<KeyId, Timestamp>>,
}

impl Keys {
    /// The keys in a store, and a master key that stands in the configuration instead.
    pub fn new(store: Arc<dyn KeyStore>, master: Option<&SecretString>) -> Self {
        Self {
            shared: Arc::new(Shared {
                store,
                configured: master.map(|key| SecretHash::of(key.expose_secret())),
                recent: Mutex::default(),
                endings: AtomicU64::default(),
                uses: Mutex::default(),
            }),
        }
    }

    /// Makes a master key where neither the configuration nor the store has one. This is the only
    /// time its text is known.
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

    /// Makes a key that opens every project.
    pub async fn create_master(&self, label: &str) -> Result<CreatedApiKey> {
        let create = CreateApiKey {
            scopes: Scope::KNOWN.to_vec(),
            ..CreateApiKey::new(label)
        };
        self.make(None, create, None).await
    }

    /// Whose key this is; `None` where it is none, or was revoked.
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

    /// Makes a key for a project, and the project where there is none: its keys cannot.
    pub async fn create(
        &self,
        engine: &Engine,
        project: &ProjectId,
        create: CreateApiKey,
    ) -> Result<CreatedApiKey> {
        let made = self.make(Some(project), create, None).await?;
        engine.create_project(project).await?;
        Ok(made)
    }

    /// Makes a key for the project of another key; `None` where that one was ended or deleted
    /// meanwhile, as with its whole project.
    pub async fn create_by(
        &self,
        maker: &Caller,
        project: &ProjectId,
        create: CreateApiKey,
    ) -> Result<Option<CreatedApiKey>> {
        let (record, made) = new_key(Some(project), create, None)?;
        let stored = self.shared.store.insert_by(maker.name(), record).await?;
        Ok(stored.then_some(made))
    }

    /// Makes the projects that have a key and are not there, as after a process that ended between
    /// the two.
    pub async fn ensure_projects(&self, engine: &Engine) -> Result<()> {
        let there = engine.list_projects().await?;
        for project in self.shared.store.projects().await? {
            if !there.contains(&project) {
                engine.create_project(&project).await?;
            }
        }
        Ok(())
    }

    /// Makes a project and its first key, which may do everything there. A project that is there, or
    /// has had a key, is somebody's already.
    pub async fn bootstrap(&self, engine: &Engine, request: Bootstrap) -> Result<Bootstrapped> {
        if engine.list_projects().await?.contains(&request.project_id) {
            return Err(taken(&request.project_id));
        }
        let create = CreateApiKey {
            label: request.key_label,
            scopes: Scope::KNOWN.to_vec(),
            environment: request.environment,
        };
        let owner = Some(request.user_id.clone());
        let (record, made) = new_key(Some(&request.project_id), create, owner)?;
        if !self.shared.store.insert_first(record).await? {
            return Err(taken(&request.project_id));
        }
        engine.create_project(&request.project_id).await?;
        Ok(Bootstrapped {
            user_id: request.user_id,
            project_id: request.project_id,
            api_key: made.api_key,
        })
    }

    /// The keys of a project, or the master keys (`None`), oldest first.
    pub async fn list(&self, project: Option<&ProjectId>) -> Result<Vec<ApiKey>> {
        let records = self.shared.store.list(project).await?;
        Ok(records
            .into_iter()
            .map(|record| self.shown(record))
            .collect())
    }

    /// Ends a key of a project, or a master key (`None`).
    pub async fn revoke(&self, project: Option<&ProjectId>, id: &KeyId) -> Result<ApiKey> {
        let now = text(Timestamp::now());
        let revoked = self.shared.store.revoke(project, id, &now).await?;
        let record = revoked.ok_or_else(|| Error::not_found("key", id.as_str()))?;
        self.forget(|known| known.key.id == record.key.id);
        Ok(self.shown(record))
    }

    /// Removes all keys of a project; tells whether there were any.
    pub async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        let deleted = self.shared.store.delete_project(project).await?;
        self.forget(|known| known.project.as_ref() == Some(project));
        Ok(deleted)
    }

    /// Writes down when keys were last used.
    pub async fn flush(&self) -> Result<()> {
        let uses = std::mem::take(&mut *lock(&self.shared.uses));
        if uses.is_empty() {
            return Ok(());
        }
        let told = uses.iter().map(|(id, at)| (id.clone(), text(*at)));
        let written = self.shared.store.touch(told.collect()).await;
        if written.is_err() {
            // For the next time, unless a key was used again meanwhile.
            let mut later = lock(&self.shared.uses);
            for (id, at) in uses {
                later.entry(id).or_insert(at);
            }
        }
        written
    }

    async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>> {
        if let Some((at, record)) = lock(&self.shared.recent).get(public_id)
            && at.elapsed() < BELIEVED
        {
            return Ok(Some(record.clone()));
        }
        let (asked, endings) = (Instant::now(), self.endings());
        let found = self.shared.store.find(public_id).await?;
        let mut recent = lock(&self.shared.recent);
        recent.retain(|_, (at, _)| at.elapsed() < BELIEVED);
        if let Some(record) = &found
            && endings == self.endings()
        {
            recent.insert(public_id.to_owned(), (asked, record.clone()));
        }
        Ok(found)
    }

    /// The key with its last use, which may not be written down yet.
    fn shown(&self, record: KeyRecord) -> ApiKey {
        let mut key = record.key;
        if let Some(at) = lock(&self.shared.uses).get(&key.id) {
            key.last_used_at = Some(text(*at));
        }
        key
    }

    fn forget(&self, ended: impl Fn(&KeyRecord) -> bool) {
        let mut recent = lock(&self.shared.recent);
        self.shared.endings.fetch_add(1, Ordering::SeqCst);
        recent.retain(|_, (_, record)| !ended(record));
    }

    fn endings(&self) -> u64 {
        self.shared.endings.load(Ordering::SeqCst)
    }

    async fn make(
        &self,
        project: Option<&ProjectId>,
        create: CreateApiKey,
        owner: Option<String>,
    ) -> Result<CreatedApiKey> {
        let (record, made) = new_key(project, create, owner)?;
        self.shared.store.insert(record).await?;
        Ok(made)
    }
}

/// What a project is refused that has a key, or holds something.
fn taken(project: &ProjectId) -> Error {
    Error::Conflict(format!(
        "project `{project}` exists already: ask whoever has a key of it, or the holder of the \
         master key, for one"
    ))
}

/// A key with a new secret, as it is kept and as it is shown this once.
fn new_key(
    project: Option<&ProjectId>,
    create: CreateApiKey,
    owner: Option<String>,
) -> Result<(KeyRecord, CreatedApiKey)> {
    create.validate()?;
    let key = KeyText::generate(create.environment.clone())
        .map_err(|error| Error::internal("the system gives no random numbers", error))?;
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
    let made = CreatedApiKey {
        api_key: key.reveal(),
        key: listed,
    };
    Ok((record, made))
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn text(time: Timestamp) -> String {
    format!("{time:.3}")
}
