//! A database file, opened without a server.

use std::path::PathBuf;
use std::sync::Arc;

use reflect_engine::Engine;
use reflect_engine::store::Sqlite;
use reflect_server::keys::{self, Keys};

use crate::failure::Failure;
use crate::models::Models;
use crate::permissions;

/// An open database file.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) engine: Engine,
    path: PathBuf,
}

impl File {
    /// Opens a file, creating it if missing. Queued jobs and vectors stay untouched: they belong to
    /// the server.
    pub(crate) async fn open(path: PathBuf, models: &Models) -> Result<Self, Failure> {
        let engine = Engine::builder()
            .store(Arc::new(open_store(path.clone()).await?))
            .only_on_call();
        Ok(Self {
            engine: models.install(engine).start()?,
            path,
        })
    }

    /// The keys in the file. Their tables are created if missing.
    pub(crate) async fn keys(&self) -> reflect_engine::Result<Keys> {
        let store = open_key_store(self.path.clone()).await?;
        Ok(Keys::new(Arc::new(store), None))
    }

    /// The keys in the file; `None` if no server has used it, which makes the next one create a
    /// master key.
    pub(crate) async fn existing_keys(&self) -> reflect_engine::Result<Option<Keys>> {
        let path = self.path.clone();
        let store = blocking(move || keys::Sqlite::open_existing(path)).await?;
        Ok(store.map(|store| Keys::new(Arc::new(store), None)))
    }
}

/// Opens the engine's store. A missing file is created for its owner only.
pub(crate) async fn open_store(path: PathBuf) -> reflect_engine::Result<Sqlite> {
    blocking(move || {
        permissions::create_private(&path);
        Sqlite::open(&path)
    })
    .await
}

/// Opens the store of keys in the engine's file, creating the tables if missing.
pub(crate) async fn open_key_store(path: PathBuf) -> reflect_engine::Result<keys::Sqlite> {
    blocking(move || keys::Sqlite::open(path)).await
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> reflect_engine::Result<T> + Send + 'static,
) -> reflect_engine::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| reflect_engine::Error::internal("the file was not opened", error))?
}
