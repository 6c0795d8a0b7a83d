//! Keys, in memory, in a file and in PostgreSQL.

mod limits;

use super::*;

/// Declares behaviours that every store has; each becomes one test with keys in memory, one in a file
/// and one in PostgreSQL.
macro_rules! on_every_store {
    ($($behaviour:ident),+ $(,)?) => {
        mod in_memory {
            $(
                #[tokio::test]
                async fn $behaviour() {
                    let engine = Engine::builder().start().unwrap();
                    super::$behaviour(KeyStore::in_memory().await.unwrap(), engine).await;
                }
            )+

            use super::*;
        }

        mod in_a_file {
            $(
                #[tokio::test]
                async fn $behaviour() {
                    let folder = tempfile::tempdir().unwrap();
                    let path = folder.path().join("reflect.db");
                    let engine = Engine::open_sqlite(&path).await.unwrap();
                    let keys = KeyStore::on_file(&path).await.unwrap();
                    super::$behaviour(keys, engine.clone()).await;
                    engine.shutdown().await.unwrap();
                }
            )+

            use super::*;
        }

        #[cfg(feature = "postgres")]
        mod in_postgres {
            $(
                #[tokio::test]
                #[ignore = "needs PostgreSQL: cargo xtask test postgres"]
                async fn $behaviour() {
                    let (keys, engine) = postgres(stringify!($behaviour)).await;
                    super::$behaviour(keys, engine.clone()).await;
                    engine.shutdown().await.unwrap();
                }
            )+

            use super::*;
        }
    };
}

on_every_store!(
    keys_are_found_listed_revoked_and_deleted_by_project,
    last_use_is_stored_by_flush,
    master_key_is_created_once_and_only_if_none_is_configured,
    deleted_key_creates_no_other,
    project_is_created_with_its_first_key_or_later,
    largest_alpha_of_a_key_outlives_it,
    of_many_servers_one_creates_the_master_key,
);

/// Keys and an engine in one empty database.
#[cfg(feature = "postgres")]
async fn postgres(behaviour: &str) -> (KeyStore, Engine) {
    use reflect_engine::store::{Postgres as Database, scratch_database};

    // PostgreSQL cuts names at 63 bytes.
    let name: String = format!("keys_{behaviour}").chars().take(50).collect();
    let address = scratch_database(&name).await;
    let database = Arc::new(Database::connect_with(&address, 4).await.unwrap());
    let keys = KeyStore::on_postgres(Arc::clone(&database)).await.unwrap();
    assert!(keys.is_new());
    let engine = Engine::builder()
        .clock(Arc::new(database.clock()))
        .store(database);
    (keys, engine.start().unwrap())
}

fn create(label: &str) -> CreateApiKey {
    CreateApiKey {
        scopes: vec![Scope::TraceRead, Scope::MemoryRead],
        ..CreateApiKey::new(label)
    }
}

async fn keys_are_found_listed_revoked_and_deleted_by_project(store: KeyStore, engine: Engine) {
    let keys = Keys::new(store, None);
    let [a, b] = ["a", "b"].map(ProjectId::from);
    let first = keys.create(&engine, &a, create("first")).await.unwrap();
    let second = keys.create(&engine, &a, create("second")).await.unwrap();
    let other = keys.create(&engine, &b, create("other")).await.unwrap();
    let master = keys.create_master(CreateApiKey::new("root")).await.unwrap();

    assert_eq!(
        keys.list(Some(&a)).await.unwrap(),
        [first.key.clone(), second.key]
    );
    assert_eq!(keys.list(None).await.unwrap()[0], master.key);
    let caller = keys
        .recognise(&first.api_key)
        .await
        .unwrap()
        .caller()
        .unwrap();
    assert!(caller.opens(&a) && !caller.opens(&b));
    assert!(caller.may(&Scope::TraceRead) && !caller.may(&Scope::KeyAdmin));
    let caller = keys
        .recognise(&master.api_key)
        .await
        .unwrap()
        .caller()
        .unwrap();
    assert!(caller.opens(&a) && caller.opens(&b) && caller.may(&Scope::KeyAdmin));

    let missing = keys.revoke(Some(&b), &first.key.id).await.unwrap_err();
    assert_eq!(missing.code(), reflect_types::ErrorCode::NotFound);
    let revoked = keys.revoke(Some(&a), &first.key.id).await.unwrap();
    assert_eq!(revoked.status, reflect_types::KeyStatus::Revoked);
    assert!(
        keys.recognise(&first.api_key)
            .await
            .unwrap()
            .caller()
            .is_none()
    );

    assert!(keys.delete_project(&a).await.unwrap());
    assert!(!keys.delete_project(&a).await.unwrap());
    assert!(keys.list(Some(&a)).await.unwrap().is_empty());
    assert!(
        keys.recognise(&other.api_key)
            .await
            .unwrap()
            .caller()
            .is_some()
    );
}

async fn last_use_is_stored_by_flush(store: KeyStore, engine: Engine) {
    let keys = Keys::new(store.clone(), None);
    let project = ProjectId::from("a");
    let created = keys.create(&engine, &project, create("k")).await.unwrap();
    keys.recognise(&created.api_key).await.unwrap();
    let stored = async || {
        store.list(Some(&project)).await.unwrap()[0]
            .key
            .last_used_at
            .clone()
    };
    assert_eq!(stored().await, None);
    let shown = keys.list(Some(&project)).await.unwrap()[0]
        .last_used_at
        .clone();
    assert!(shown.is_some());
    keys.flush().await.unwrap();
    assert_eq!(stored().await, shown);
}

async fn master_key_is_created_once_and_only_if_none_is_configured(store: KeyStore, _: Engine) {
    let configured = SecretString::from("rf_live_test_chosen");
    let keys = Keys::new(store.clone(), Some(&configured));
    assert!(keys.ensure_master().await.unwrap().is_none());
    let caller = keys
        .recognise("rf_live_test_chosen")
        .await
        .unwrap()
        .caller()
        .unwrap();
    assert_eq!(caller.project(), None);
    assert!(
        keys.recognise("rf_live_test_other")
            .await
            .unwrap()
            .caller()
            .is_none()
    );

    let keys = Keys::new(store.clone(), None);
    let created = keys.ensure_master().await.unwrap().unwrap();
    assert!(created.key.is_master);
    assert!(keys.ensure_master().await.unwrap().is_none());
    assert!(
        keys.recognise("rf_live_test_chosen")
            .await
            .unwrap()
            .caller()
            .is_none()
    );
    keys.revoke(None, &created.key.id).await.unwrap();
    assert!(keys.ensure_master().await.unwrap().is_some());
}

async fn of_many_servers_one_creates_the_master_key(store: KeyStore, _: Engine) {
    let servers: Vec<_> = (0..8)
        .map(|_| {
            let keys = Keys::new(store.clone(), None);
            tokio::spawn(async move { keys.ensure_master().await.unwrap() })
        })
        .collect();
    let mut created = 0;
    for server in servers {
        created += usize::from(server.await.unwrap().is_some());
    }
    assert_eq!(created, 1);
    assert_eq!(store.list(None).await.unwrap().len(), 1);
}

async fn largest_alpha_of_a_key_outlives_it(store: KeyStore, engine: Engine) {
    let keys = Keys::new(store, None);
    let project = ProjectId::from("a");
    let limit = CreateApiKey {
        max_alpha: Some(0.1),
        ..create("limited")
    };
    let limited = keys.create(&engine, &project, limit).await.unwrap().key.id;
    let unlimited = keys.create(&engine, &project, create("unlimited")).await;
    let unlimited = unlimited.unwrap().key.id;
    keys.revoke(Some(&project), &limited).await.unwrap();
    assert_eq!(keys.max_alpha(&limited).await.unwrap(), Some(0.1));
    for id in [unlimited, KeyId::MASTER.into(), "unknown".into()] {
        assert_eq!(keys.max_alpha(&id).await.unwrap(), None, "{id}");
    }
}

#[tokio::test]
async fn no_secret_is_stored() {
    let store = KeyStore::in_memory().await.unwrap();
    let keys = Keys::new(store.clone(), None);
    let engine = Engine::builder().start().unwrap();
    let created = keys
        .create(&engine, &ProjectId::from("a"), create("k"))
        .await
        .unwrap();
    let secret = created.api_key.rsplit_once('_').unwrap().1;
    let kept = store.list(Some(&ProjectId::from("a"))).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert!(!format!("{kept:?} {created:?} {keys:?}").contains(secret));
}

async fn deleted_key_creates_no_other(store: KeyStore, engine: Engine) {
    let keys = Keys::new(store, None);
    let project = ProjectId::from("a");
    let first = keys.create(&engine, &project, create("first")).await;
    let first = keys.recognise(&first.unwrap().api_key).await;
    let first = first.unwrap().caller().unwrap();
    let second = keys.create_by(&first, &project, create("second")).await;
    let second = second.unwrap().unwrap();
    let ended = keys
        .recognise(&second.api_key)
        .await
        .unwrap()
        .caller()
        .unwrap();
    keys.revoke(Some(&project), &second.key.id).await.unwrap();
    let third = keys.create_by(&ended, &project, create("third")).await;
    assert!(third.unwrap().is_none());
    keys.delete_project(&project).await.unwrap();
    let third = keys.create_by(&first, &project, create("third")).await;
    assert!(third.unwrap().is_none());
    assert!(keys.list(Some(&project)).await.unwrap().is_empty());
}

async fn project_is_created_with_its_first_key_or_later(store: KeyStore, engine: Engine) {
    let keys = Keys::new(store, None);
    let project = ProjectId::from("a");
    keys.create(&engine, &project, create("k")).await.unwrap();
    let there = engine.list_projects().await.unwrap();
    assert!(there.contains(&project));
    // The state after a crash in between.
    engine.delete_project(&project).await.unwrap();
    keys.create_master(CreateApiKey::new("root")).await.unwrap();
    keys.ensure_projects(&engine).await.unwrap();
    assert_eq!(engine.list_projects().await.unwrap(), [project]);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_write_does_not_block_authentication() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    let engine = Engine::open_sqlite(&path).await.unwrap();
    let keys = Keys::new(KeyStore::on_file(&path).await.unwrap(), None);
    let project = ProjectId::from("a");
    let created = keys.create(&engine, &project, create("k")).await.unwrap();
    assert!(
        keys.recognise(&created.api_key)
            .await
            .unwrap()
            .caller()
            .is_some()
    );

    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waiting = keys.clone();
    let write = tokio::spawn(async move { waiting.create_master(CreateApiKey::new("late")).await });
    // Each is looked up, because unknown keys are not cached.
    for n in 0..300 {
        let unknown = format!("rf_live_unknown{n}_secret");
        assert!(keys.recognise(&unknown).await.unwrap().caller().is_none());
    }
    assert!(!write.is_finished());
    other.execute_batch("COMMIT").unwrap();
    write.await.unwrap().unwrap();
}

#[tokio::test]
async fn failed_flush_is_retried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reflect.db");
    let engine = Engine::open_sqlite(&path).await.unwrap();
    let keys = Keys::new(KeyStore::on_file(&path).await.unwrap(), None);
    let project = ProjectId::from("a");
    let created = keys.create(&engine, &project, create("k")).await.unwrap();
    assert!(
        keys.recognise(&created.api_key)
            .await
            .unwrap()
            .caller()
            .is_some()
    );
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch("ALTER TABLE api_key RENAME TO away")
        .unwrap();
    assert!(keys.flush().await.is_err());
    other
        .execute_batch("ALTER TABLE away RENAME TO api_key")
        .unwrap();
    keys.flush().await.unwrap();
    let stored = keys.shared.store.list(Some(&project)).await.unwrap();
    assert!(stored[0].key.last_used_at.is_some());
}
