//! Authentication: from the text of a key to its holder.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use reflect_engine::Result;
use reflect_types::{KeyId, KeyStatus};

use super::caller::Caller;
use super::store::KeyRecord;
use super::text::{KeyText, SecretHash};
use super::{Keys, lock, time};

/// How long a lookup is cached. A key that another process revokes stays valid for at most this long;
/// one that this process revokes is refused immediately.
const KEY_CACHE_TTL: Duration = Duration::from_secs(1);

/// What is known about a presented key.
#[derive(Clone, Debug)]
pub enum Recognition {
    /// The holder of a valid key.
    Caller(Caller),
    /// An expired key, with the time of its expiry.
    Expired(String),
    /// A revoked key.
    Revoked,
    /// No key has this text.
    Unknown,
}

impl Recognition {
    /// The holder of a valid key.
    pub fn caller(self) -> Option<Caller> {
        match self {
            Self::Caller(caller) => Some(caller),
            _ => None,
        }
    }
}

impl Keys {
    /// Recognises a key, with at most one lookup in the store.
    pub async fn recognise(&self, text: &str) -> Result<Recognition> {
        if let Some(caller) = self.recall(text) {
            return Ok(Recognition::Caller(caller));
        }
        let Some(presented) = KeyText::parse(text) else {
            return Ok(Recognition::Unknown);
        };
        let record = self.find(&presented.public_id).await?;
        Ok(match record {
            Some(record) => self.verify(&presented, &record),
            None => Recognition::Unknown,
        })
    }

    /// The holder of the configured master key or of a key in recent use. Nothing is looked up.
    pub fn recall(&self, text: &str) -> Option<Caller> {
        if let Some(configured) = &self.shared.configured
            && configured.matches(&SecretHash::of(text))
        {
            return Some(Caller::configured());
        }
        let presented = KeyText::parse(text)?;
        let record = self.cached(&presented.public_id)?;
        self.verify(&presented, &record).caller()
    }

    /// The holder of a key by its [name](Caller::name), if the key is still valid: for a session, whose
    /// key was recognised when it began.
    pub async fn holder(&self, name: &str) -> Result<Option<Caller>> {
        if name == KeyId::MASTER {
            let is_configured = self.shared.configured.is_some();
            return Ok(is_configured.then(Caller::configured));
        }
        let record = self.find(name).await?;
        let caller = record.map(|record| self.admit(&record));
        Ok(caller.and_then(Recognition::caller))
    }

    /// Recognises a key whose public id exists. However many keys are presented, the store is asked for
    /// its public ids and for each of them once per [`KEY_CACHE_TTL`].
    pub(crate) async fn recognise_listed(&self, text: &str) -> Result<Recognition> {
        let Some(presented) = KeyText::parse(text) else {
            return Ok(Recognition::Unknown);
        };
        if !self.is_listed(&presented.public_id).await? {
            return Ok(Recognition::Unknown);
        }
        self.recognise(text).await
    }

    async fn is_listed(&self, public_id: &str) -> Result<bool> {
        let mut listed = self.shared.listed.lock().await;
        if let Some((at, ids)) = &*listed
            && at.elapsed() < KEY_CACHE_TTL
        {
            return Ok(ids.contains(public_id));
        }
        let (at, ids) = (Instant::now(), self.shared.store.public_ids().await?);
        let is_listed = ids.contains(public_id);
        *listed = Some((at, ids));
        Ok(is_listed)
    }

    fn verify(&self, presented: &KeyText, record: &KeyRecord) -> Recognition {
        let is_same = record.hash.matches(&presented.hash())
            && record.key.environment == presented.environment;
        if !is_same {
            return Recognition::Unknown;
        }
        self.admit(record)
    }

    /// Recognises a key whose secret was presented.
    fn admit(&self, record: &KeyRecord) -> Recognition {
        if record.key.status != KeyStatus::Active {
            return Recognition::Revoked;
        }
        if let Some(at) = &record.key.expires_at
            && time::has_expired(&record.key)
        {
            return Recognition::Expired(at.clone());
        }
        lock(&self.shared.uses).insert(record.key.id.clone(), Timestamp::now());
        Recognition::Caller(Caller::holding(record))
    }

    fn cached(&self, public_id: &str) -> Option<KeyRecord> {
        let cache = lock(&self.shared.cache);
        let (at, record) = cache.get(public_id)?;
        (at.elapsed() < KEY_CACHE_TTL).then(|| record.clone())
    }

    async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>> {
        if let Some(record) = self.cached(public_id) {
            return Ok(Some(record));
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

    /// Removes revoked and deleted keys from the cache.
    pub(super) fn invalidate(&self, is_stale: impl Fn(&KeyRecord) -> bool) {
        let mut cache = lock(&self.shared.cache);
        self.shared.invalidations.fetch_add(1, Ordering::SeqCst);
        cache.retain(|_, (_, record)| !is_stale(record));
    }

    fn invalidations(&self) -> u64 {
        self.shared.invalidations.load(Ordering::SeqCst)
    }
}
