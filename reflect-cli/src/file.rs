//! A database, opened without a server.

use reflect_engine::Engine;
use reflect_server::keys::Keys;

use crate::data::{Connections, Data, Opened};
use crate::failure::Failure;
use crate::models::Models;

/// An open database: a file, or a PostgreSQL database.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub(crate) engine: Engine,
    pub(crate) opened: Opened,
}

impl File {
    /// Opens a database, creating it if missing. Queued jobs and vectors stay untouched: they belong
    /// to the server.
    pub(crate) async fn open(
        data: &Data,
        connections: Connections,
        models: &Models,
    ) -> Result<Self, Failure> {
        let opened = data.open(connections).await?;
        let engine = models.install(opened.engine().only_on_call()).start()?;
        Ok(Self { engine, opened })
    }

    /// Opens a database as it is, to look at it. One that is empty or of an older version is refused.
    pub(crate) async fn open_current(
        data: &Data,
        connections: Connections,
    ) -> reflect_engine::Result<Self> {
        let opened = data.open_current(connections).await?;
        let engine = opened.engine().only_on_call().start()?;
        Ok(Self { engine, opened })
    }

    /// Opens a database to serve it, creating it if missing: queued jobs are carried out, and memories
    /// of another embedder re-embedded.
    pub(crate) async fn serve(
        data: &Data,
        connections: Connections,
        models: &Models,
    ) -> Result<Self, Failure> {
        let opened = data.open(connections).await?;
        let engine = models.install(opened.engine()).start()?;
        Ok(Self { engine, opened })
    }

    /// The keys of the database. Their tables are created if missing.
    pub(crate) async fn keys(&self) -> reflect_engine::Result<Keys> {
        Ok(Keys::new(self.opened.keys().await?, None))
    }

    /// The keys of the database; `None` if no server has used it, which makes the next one create a
    /// master key.
    pub(crate) async fn existing_keys(&self) -> reflect_engine::Result<Option<Keys>> {
        let store = self.opened.existing_keys().await?;
        Ok(store.map(|store| Keys::new(store, None)))
    }
}
