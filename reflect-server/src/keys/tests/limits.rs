//! Expiry, the largest alpha, and the cost of unknown keys.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;

use super::sql::{Guard, Row, Sql, Statement};
use super::sqlite::Sqlite;
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
    let store = KeyStore::on_file(&path).await.unwrap();
    let (engine, project) = (Engine::builder().start().unwrap(), ProjectId::from("a"));
    let keys = Keys::new(store, None);
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
    let keys = Keys::new(KeyStore::on_file(&path).await.unwrap(), None);
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
    let keys = Keys::new(KeyStore::on_file(&path).await.unwrap(), None);
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
    let keys = Keys::new(KeyStore::in_memory().await.unwrap(), None);
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

/// Counts lookups.
struct Counting(Sqlite, Arc<AtomicUsize>);

#[async_trait]
impl Sql for Counting {
    fn name(&self) -> String {
        self.0.name()
    }

    fn find_format(&self) -> &'static str {
        self.0.find_format()
    }

    async fn read(&self, query: Statement) -> Result<Vec<Row>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.read(query).await
    }

    async fn write(
        &self,
        guard: Option<Guard>,
        statements: Vec<Statement>,
    ) -> Result<Option<Vec<Row>>> {
        self.0.write(guard, statements).await
    }
}

#[tokio::test]
async fn a_database_of_a_newer_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    let first = KeyStore::on_file(&path).await.unwrap();
    let again = KeyStore::existing_on_file(&path).await.unwrap().unwrap();
    assert!(first.is_new() && !again.is_new());
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute("UPDATE server_format SET version = 2", [])
        .unwrap();
    let refused = KeyStore::on_file(&path).await.err().unwrap();
    assert!(matches!(refused, Error::Newer { found: 2, .. }));
}

#[tokio::test]
async fn unknown_keys_are_not_looked_up_one_by_one() {
    let lookups = Arc::new(AtomicUsize::new(0));
    let counting = Counting(Sqlite::in_memory().unwrap(), Arc::clone(&lookups));
    let keys = Keys::new(KeyStore::open(Arc::new(counting)).await.unwrap(), None);
    lookups.store(0, Ordering::SeqCst);
    let begun = Instant::now();
    for n in 0..1_000 {
        let guess = format!("rf_live_unknown{n}_secret");
        let recognised = keys.recognise_listed(&guess).await.unwrap();
        assert!(recognised.caller().is_none());
    }
    // One per second.
    let most = 1 + usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!(lookups.load(Ordering::SeqCst) <= most);
    // A new key is found at once.
    let created = keys.create_master(CreateApiKey::new("new")).await.unwrap();
    let recognised = keys.recognise_listed(&created.api_key).await.unwrap();
    assert!(recognised.caller().is_some());
}
