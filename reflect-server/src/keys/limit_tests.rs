//! Expiry, the largest alpha, and the cost of unknown keys.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;

use super::*;

fn in_seconds(seconds: i64) -> String {
    let later = Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
    time::text(later)
}

fn expiring(at: &str) -> CreateApiKey {
    CreateApiKey {
        scopes: vec![Scope::KeyAdmin],
        expires_at: Some(at.to_owned()),
        max_alpha: Some(0.1),
        ..CreateApiKey::new("temporary")
    }
}

#[tokio::test]
async fn key_is_valid_until_it_expires() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    let store = Sqlite::open(&path).unwrap();
    let (engine, project) = (Engine::builder().start().unwrap(), ProjectId::from("a"));
    let keys = Keys::new(Arc::new(store), None);
    let end = in_seconds(3_600);
    let created = keys.create(&engine, &project, expiring(&end)).await;
    let created = created.unwrap();
    assert_eq!(created.key.expires_at.as_deref(), Some(&*end));
    assert_eq!(keys.list(Some(&project)).await.unwrap(), [created.key]);
    let recognised = keys.recognise(&created.api_key).await.unwrap();
    let caller = recognised.caller().unwrap();
    assert_eq!(caller.max_alpha(), Some(0.1));

    let past = in_seconds(-1);
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute("UPDATE api_key SET expires_at = ?1", [&past])
        .unwrap();
    // Without the cache of the first lookup.
    let keys = Keys::new(Arc::new(Sqlite::open(&path).unwrap()), None);
    let Recognition::Expired(at) = keys.recognise(&created.api_key).await.unwrap() else {
        panic!("the key is still valid");
    };
    assert_eq!(at, past);
    assert!(keys.recall(&created.api_key).is_none());
    let child = keys.create_by(&caller, &project, expiring(&in_seconds(60)));
    assert!(child.await.unwrap().is_none());
}

#[tokio::test]
async fn expired_master_key_is_replaced_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    let keys = Keys::new(Arc::new(Sqlite::open(&path).unwrap()), None);
    let create = expiring(&in_seconds(3_600));
    let master = keys.create_master(create).await.unwrap();
    assert!(is_valid(&master.key));
    assert!(keys.ensure_master().await.unwrap().is_none());
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute("UPDATE api_key SET expires_at = ?1", [in_seconds(-1)])
        .unwrap();
    assert!(keys.ensure_master().await.unwrap().is_some());
}

#[tokio::test]
async fn expiry_is_a_time_in_the_future() {
    let keys = Keys::new(Arc::new(Sqlite::in_memory().unwrap()), None);
    for wrong in [&in_seconds(-1), "tomorrow", "", "2027-01-31"] {
        let refused = keys.create_master(expiring(wrong)).await.unwrap_err();
        assert_eq!(
            refused.body().field.as_deref(),
            Some("expires_at"),
            "{wrong}"
        );
    }
    // Stored in UTC, so that times compare as text.
    let zoned = keys
        .create_master(expiring("2100-01-01T02:00:00+02:00"))
        .await;
    let expires_at = zoned.unwrap().key.expires_at;
    assert_eq!(expires_at.as_deref(), Some("2100-01-01T00:00:00.000Z"));
}

#[tokio::test]
async fn keys_of_the_first_format_stay_valid() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    let key = KeyText::generate(reflect_types::Environment::Live).unwrap();
    let old = rusqlite::Connection::open(&path).unwrap();
    old.execute_batch(include_str!("0001_keys.sql")).unwrap();
    old.execute_batch(
        "CREATE TABLE server_format (version INTEGER NOT NULL) STRICT;
         INSERT INTO server_format VALUES (1);",
    )
    .unwrap();
    old.execute(
        "INSERT INTO api_key (id, public_id, hash, project, label, scopes, environment, created_at)
         VALUES ('1', ?1, ?2, 'a', 'old', 'trace:read', 'live', '2026-01-02T03:04:05.678Z')",
        rusqlite::params![key.public_id, key.hash().as_bytes()],
    )
    .unwrap();
    let store = Sqlite::open(&path).unwrap();
    assert!(!store.is_new());
    let keys = Keys::new(Arc::new(store), None);
    let recognised = keys.recognise(&key.reveal()).await.unwrap();
    assert_eq!(recognised.caller().unwrap().max_alpha(), None);
    let listed = keys.list(Some(&"a".into())).await.unwrap();
    assert_eq!(listed[0].expires_at, None);
}

/// Counts lookups.
struct Counting(Sqlite, AtomicUsize);

#[async_trait]
impl KeyStore for Counting {
    async fn insert(&self, key: KeyRecord) -> Result<()> {
        self.0.insert(key).await
    }
    async fn insert_first(&self, key: KeyRecord) -> Result<bool> {
        self.0.insert_first(key).await
    }
    async fn insert_if_none_is_valid(&self, key: KeyRecord) -> Result<bool> {
        self.0.insert_if_none_is_valid(key).await
    }
    async fn insert_by(&self, creator: &str, key: KeyRecord) -> Result<bool> {
        self.0.insert_by(creator, key).await
    }
    async fn projects(&self) -> Result<Vec<ProjectId>> {
        self.0.projects().await
    }
    async fn public_ids(&self) -> Result<HashSet<String>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.public_ids().await
    }
    async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.find(public_id).await
    }
    async fn list(&self, project: Option<&ProjectId>) -> Result<Vec<KeyRecord>> {
        self.0.list(project).await
    }
    async fn max_alpha(&self, id: &KeyId) -> Result<Option<f64>> {
        self.0.max_alpha(id).await
    }
    async fn revoke(
        &self,
        project: Option<&ProjectId>,
        id: &KeyId,
        now: &str,
    ) -> Result<Option<KeyRecord>> {
        self.0.revoke(project, id, now).await
    }
    async fn touch(&self, uses: Vec<(KeyId, String)>) -> Result<()> {
        self.0.touch(uses).await
    }
    async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        self.0.delete_project(project).await
    }
}

#[tokio::test]
async fn unknown_keys_are_not_looked_up_one_by_one() {
    let store = Arc::new(Counting(Sqlite::in_memory().unwrap(), AtomicUsize::new(0)));
    let keys = Keys::new(Arc::clone(&store) as Arc<dyn KeyStore>, None);
    let begun = Instant::now();
    for n in 0..1_000 {
        let guess = format!("rf_live_unknown{n}_secret");
        let recognised = keys.recognise_listed(&guess).await.unwrap();
        assert!(recognised.caller().is_none());
    }
    // One per second.
    let most = 1 + usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!(store.1.load(Ordering::SeqCst) <= most);
    // A new key is found at once.
    let created = keys.create_master(CreateApiKey::new("new")).await.unwrap();
    let recognised = keys.recognise_listed(&created.api_key).await.unwrap();
    assert!(recognised.caller().is_some());
}
