//! The stores, each new and empty for every behaviour.

use std::sync::atomic::{AtomicUsize, Ordering};

use reflect_engine::store::{Postgres, Sqlite, Store, scratch_database};

/// Declares the behaviours of a module. Each becomes one test on each store; those on PostgreSQL are run by
/// `cargo xtask test postgres`.
macro_rules! on_every_store {
    ($($behaviour:ident),+ $(,)?) => {
        mod sqlite_in_memory {
            $(#[tokio::test]
            async fn $behaviour() {
                crate::stores::sqlite_in_memory(super::$behaviour).await;
            })+
        }

        mod sqlite_file {
            $(#[tokio::test]
            async fn $behaviour() {
                crate::stores::sqlite_file(super::$behaviour).await;
            })+
        }

        mod postgres {
            $(#[tokio::test(flavor = "multi_thread")]
            #[ignore = "needs PostgreSQL: cargo xtask test postgres"]
            async fn $behaviour() {
                crate::stores::postgres(super::$behaviour).await;
            })+
        }
    };
}

pub(crate) async fn sqlite_in_memory(behaviour: impl AsyncFnOnce(&dyn Store)) {
    behaviour(&Sqlite::in_memory().unwrap()).await;
}

pub(crate) async fn sqlite_file(behaviour: impl AsyncFnOnce(&dyn Store)) {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path().join("reflect.db")).unwrap();
    behaviour(&store).await;
    store.close().await.unwrap();
}

pub(crate) async fn postgres(behaviour: impl AsyncFnOnce(&dyn Store)) {
    let address = postgres_address().await;
    let store = Postgres::connect_with(&address, 4).await.unwrap();
    behaviour(&store).await;
    store.close().await.unwrap();
}

/// An empty database of PostgreSQL that no other test of this process uses.
pub(crate) async fn postgres_address() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    scratch_database(&format!("conforms_{number}")).await
}
