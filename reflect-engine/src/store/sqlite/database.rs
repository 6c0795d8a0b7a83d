//! The connections of a database.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use super::fault::Fault;
use super::file::{self, Older};
use super::readers::Readers;
use super::writer::Writer;
use crate::error::Result;

/// A store in one SQLite file, or in memory.
#[derive(Debug)]
pub struct Sqlite {
    pub(super) path: Arc<Path>,
    pub(super) writer: Writer,
    /// `None` for a database in memory, which only its one connection can see.
    pub(super) readers: Option<Readers>,
}

impl Sqlite {
    /// Opens a file, creates it if there is none, and migrates an older one. A file that is
    /// damaged, newer than this version or another program's is refused and left unchanged.
    ///
    /// This blocks: in async code, call it through `spawn_blocking`.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open_or(path.into().into(), Older::Migrated)
    }

    /// Opens a file of this version's format. One that is older or empty is refused and left unchanged.
    ///
    /// This blocks: in async code, call it through `spawn_blocking`.
    pub fn open_current(path: impl Into<PathBuf>) -> Result<Self> {
        Self::open_or(path.into().into(), Older::Refused)
    }

    fn open_or(path: Arc<Path>, older: Older) -> Result<Self> {
        let db = file::open(&path, older).map_err(|fault| fault.at(&path))?;
        Ok(Self {
            writer: Writer::start(db, Arc::clone(&path))?,
            readers: Some(Readers::new(Arc::clone(&path))),
            path,
        })
    }

    /// Creates an empty database in memory, which ends with this store.
    pub fn in_memory() -> Result<Self> {
        let path: Arc<Path> = Path::new(":memory:").into();
        let db = file::open_in_memory().map_err(|fault| fault.at(&path))?;
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

    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        match &self.readers {
            Some(readers) => readers.run(work).await,
            None => self.write(work).await,
        }
    }

    /// Runs work that may turn out to read only.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        only_reads: bool,
        work: impl Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        if only_reads {
            self.read(work).await
        } else {
            self.write(work).await
        }
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T> {
        self.writer.run(&self.path, work).await
    }
}
