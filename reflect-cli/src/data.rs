//! Where the data is: in a file, or in a PostgreSQL database.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reflect_engine::Builder;
use reflect_engine::store::{Postgres, Sqlite, Store};
use reflect_server::keys::{self, KeyStore};
use secrecy::{ExposeSecret as _, SecretString};

use crate::failure::Failure;
use crate::permissions;

/// A file, or the address of a PostgreSQL database.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    File(PathBuf),
    /// It may contain a password.
    Postgres(SecretString),
}

impl Data {
    /// Reads a value of `--data`.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "a parser of clap returns a result"
    )]
    pub(crate) fn parse(text: &str) -> Result<Self, Infallible> {
        let is_address = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| text.starts_with(scheme));
        Ok(match text.strip_prefix("sqlite:") {
            _ if is_address => Self::Postgres(text.into()),
            Some(path) => Self::File(path.into()),
            None => Self::File(text.into()),
        })
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }

    /// The same, unless it is a file that does not exist.
    pub(crate) fn existing(&self) -> Result<&Self, Failure> {
        if self.file().is_some_and(|path| !path.exists()) {
            return Err(Failure::usage(format!(
                "{self}: no such file; `reflect serve --data` creates one"
            )));
        }
        Ok(self)
    }

    /// Whether both name one place.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File(one), Self::File(other)) => {
                let [one, other] = [one, other].map(|path| path.canonicalize().ok());
                one.is_some() && one == other
            }
            (Self::Postgres(one), Self::Postgres(other)) => {
                one.expose_secret() == other.expose_secret()
            }
            _ => false,
        }
    }

    /// Logs a warning if other users of this machine have access to the file.
    pub(crate) fn warn_if_shared(&self) {
        if let Self::File(path) = self {
            permissions::warn_if_shared("the database", path);
        }
    }

    /// Opens the engine's store. A missing file is created for its owner only, missing tables of a
    /// database too.
    pub(crate) async fn open(&self) -> reflect_engine::Result<Opened> {
        match self {
            Self::File(path) => {
                let opened = path.clone();
                let store = blocking(move || {
                    permissions::create_private(&opened);
                    Sqlite::open(&opened)
                });
                Ok(Opened::File(path.clone(), Arc::new(store.await?)))
            }
            Self::Postgres(address) => {
                let store = Postgres::connect(address.expose_secret()).await?;
                Ok(Opened::Postgres(Arc::new(store)))
            }
        }
    }
}

impl fmt::Display for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Postgres(_) => f.write_str("postgres://…"),
        }
    }
}

/// An open store, whose keys are in the same place.
#[derive(Clone, Debug)]
pub(crate) enum Opened {
    File(PathBuf, Arc<Sqlite>),
    Postgres(Arc<Postgres>),
}

impl Opened {
    /// The engine's store.
    pub(crate) fn store(&self) -> Arc<dyn Store> {
        match self {
            Self::File(_, store) => Arc::clone(store) as Arc<dyn Store>,
            Self::Postgres(store) => Arc::clone(store) as Arc<dyn Store>,
        }
    }

    /// An engine on the store, and on its clock: the servers of a database share one.
    pub(crate) fn engine(&self) -> Builder {
        let engine = reflect_engine::Engine::builder().store(self.store());
        match self {
            Self::File(..) => engine,
            Self::Postgres(store) => engine.clock(Arc::new(store.clock())),
        }
    }

    /// The store of keys, and whether no server had used it. Its tables are created if missing.
    pub(crate) async fn keys(&self) -> reflect_engine::Result<(Arc<dyn KeyStore>, bool)> {
        match self {
            Self::File(path, _) => {
                let path = path.clone();
                let keys = blocking(move || keys::Sqlite::open(path)).await?;
                let is_new = keys.is_new();
                Ok((Arc::new(keys), is_new))
            }
            Self::Postgres(store) => {
                let keys = keys::Postgres::open(Arc::clone(store)).await?;
                let is_new = keys.is_new();
                Ok((Arc::new(keys), is_new))
            }
        }
    }

    /// The store of keys; `None` if no server has used it, which makes the next one create a master
    /// key.
    pub(crate) async fn existing_keys(&self) -> reflect_engine::Result<Option<Arc<dyn KeyStore>>> {
        match self {
            Self::File(path, _) => {
                let path = path.clone();
                let keys = blocking(move || keys::Sqlite::open_existing(path)).await?;
                Ok(keys.map(|keys| Arc::new(keys) as Arc<dyn KeyStore>))
            }
            Self::Postgres(store) => {
                let keys = keys::Postgres::open_existing(Arc::clone(store)).await?;
                Ok(keys.map(|keys| Arc::new(keys) as Arc<dyn KeyStore>))
            }
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> reflect_engine::Result<T> + Send + 'static,
) -> reflect_engine::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| reflect_engine::Error::internal("the file was not opened", error))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_no_file_and_is_shown_without_its_password() {
        let Ok(data) = Data::parse("postgres://me:secret@host/db");
        assert!(data.file().is_none());
        assert!(!format!("{data} {data:?}").contains("secret"));
        for path in ["reflect.db", "sqlite:reflect.db"] {
            let Ok(data) = Data::parse(path);
            assert_eq!(data.file(), Some(Path::new("reflect.db")));
        }
    }
}
