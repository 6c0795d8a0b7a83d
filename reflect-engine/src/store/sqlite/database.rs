//! The connections of a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use super::fault;
use super::file::{self, Missing};
use super::readers::Readers;
use super::writer::Writer;
use crate::error::Result;
use crate::store::sql::driver::{Driver, Sendable, Work};

/// A store in one SQLite file, or in memory.
#[derive(Debug)]
pub struct Sqlite {
    pub(super) path: Arc<Path>,
    pub(super) writer: Writer,
    /// `None` for a database in memory, which only its one connection can see.
    pub(super) readers: Option<Readers>,
}

impl Sqlite {
    /// Opens a file, and creates it if there is none. A file that is damaged, of another format or another program's
    /// is refused and left unchanged.
    ///
    /// This blocks: in async code, call it through `spawn_blocking`.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open_or(path.into().into(), Missing::Created)
    }

    /// Opens a file that there is. One that is missing or empty is refused and left unchanged.
    ///
    /// This blocks: in async code, call it through `spawn_blocking`.
    pub fn open_current(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open_or(path.into().into(), Missing::Refused)
    }

    fn open_or(path: Arc<Path>, missing: Missing) -> Result<Self> {
        let db = file::open(&path, missing).map_err(|fault| fault::at(fault, &path))?;
        Ok(Self {
            writer: Writer::start(db, Arc::clone(&path))?,
            readers: Some(Readers::new(Arc::clone(&path))),
            path,
        })
    }

    /// Creates an empty database in memory, which ends with this store.
    pub fn in_memory() -> Result<Self> {
        let path: Arc<Path> = Path::new(":memory:").into();
        let db = file::open_in_memory().map_err(|fault| fault::at(fault, &path))?;
        Ok(Self {
            writer: Writer::start(db, Arc::clone(&path))?,
            readers: None,
            path,
        })
    }

    /// The file, or `:memory:`.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[async_trait]
impl Driver for Sqlite {
    async fn read<S: Sendable, T: Sendable>(&self, arguments: S, work: Work<S, T>) -> Result<T> {
        match &self.readers {
            Some(readers) => readers.run(arguments, work).await,
            None => self.write(arguments, work).await,
        }
    }

    async fn write<S: Sendable, T: Sendable>(&self, arguments: S, work: Work<S, T>) -> Result<T> {
        self.writer.run(&self.path, arguments, work).await
    }

    async fn close(&self) -> Result<()> {
        if let Some(readers) = &self.readers {
            readers.close().await;
        }
        self.writer.close().await
    }
}
