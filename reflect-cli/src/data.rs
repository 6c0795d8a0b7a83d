//! Where the data is: in a file, or in a PostgreSQL database.

use std::ffi::OsStr;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Args, Command};
use reflect_engine::Builder;
use reflect_engine::store::{Postgres, Sqlite, Store};
use reflect_server::keys::KeyStore;
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

/// How a PostgreSQL database is used.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Connections {
    /// Maximum open connections to a PostgreSQL database.
    #[arg(
        long = "database-connections", env = "REFLECT_DATABASE_CONNECTIONS", value_name = "N",
        default_value_t = default_connections(), global = true
    )]
    database_connections: NonZeroUsize,
}

fn default_connections() -> NonZeroUsize {
    NonZeroUsize::new(Postgres::DEFAULT_CONNECTIONS).unwrap_or(NonZeroUsize::MIN)
}

impl Connections {
    pub(crate) fn get(self) -> usize {
        self.database_connections.get()
    }
}

/// Parses a value of `--data`. Its errors do not repeat the value, as those of other parsers do.
#[derive(Clone, Debug)]
pub(crate) struct DataParser;

impl TypedValueParser for DataParser {
    type Value = Data;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Data, clap::Error> {
        let parsed = match value.to_str() {
            Some(text) => Data::parse(text),
            None => Err("the value is not UTF-8".to_owned()),
        };
        parsed.map_err(|problem| {
            let argument = argument.map_or_else(String::new, |argument| format!("{argument}: "));
            let message = format!("{argument}{problem}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}

impl Data {
    /// A path, or an address that begins with one of two schemes. Anything else that looks like an address
    /// may contain a password: it is no path, and the error does not repeat it.
    fn parse(text: &str) -> Result<Self, String> {
        const EXPECTED: &str =
            "write a path, or postgres://user:password@host/database (or postgresql://…)";

        let Some((scheme, rest)) = text.split_once("://") else {
            // What libpq reads besides addresses, and an address that lacks a slash.
            let start = text.get(..9).unwrap_or(text).to_ascii_lowercase();
            if start.starts_with("postgres") && text.contains('@') || text.contains("password=") {
                return Err(format!("this is no address of a database: {EXPECTED}"));
            }
            let path = text.strip_prefix("sqlite:").unwrap_or(text);
            if path.is_empty() {
                return Err(format!("the path is empty: {EXPECTED}"));
            }
            return Ok(Self::File(path.into()));
        };
        let scheme = scheme.to_ascii_lowercase();
        if ["postgres", "postgresql"].contains(&scheme.as_str()) {
            return Ok(Self::Postgres(format!("{scheme}://{rest}").into()));
        }
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        Err(if !scheme.is_empty() && scheme.chars().all(is_scheme) {
            format!("there is no database for {scheme}://: {EXPECTED}")
        } else {
            format!("this is no address of a database: {EXPECTED}")
        })
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            Self::Postgres(_) => None,
        }
    }

    /// The same, unless it is a file that does not exist; what to do then is the caller's.
    pub(crate) fn existing(&self, otherwise: impl fmt::Display) -> Result<&Self, Failure> {
        match self.file().map_or(Ok(true), Path::try_exists) {
            Ok(true) => Ok(self),
            Ok(false) => Err(Failure::usage(format!("{self}: no such file: {otherwise}"))),
            Err(error) => Err(Failure::usage(format!(
                "{self}: {error}: check the path, and that this user may read its folder"
            ))),
        }
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
    pub(crate) async fn open(&self, connections: Connections) -> reflect_engine::Result<Opened> {
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
                let address = address.expose_secret();
                let store = Postgres::connect_with(address, connections.get()).await?;
                Ok(Opened::Postgres(Arc::new(store)))
            }
        }
    }

    /// Opens the engine's store as it is. One that is empty or of an older version is refused, and not
    /// migrated.
    pub(crate) async fn open_current(
        &self,
        connections: Connections,
    ) -> reflect_engine::Result<Opened> {
        match self {
            Self::File(path) => {
                let opened = path.clone();
                let store = blocking(move || Sqlite::open_current(opened)).await?;
                Ok(Opened::File(path.clone(), Arc::new(store)))
            }
            Self::Postgres(address) => {
                let address = address.expose_secret();
                let store = Postgres::connect_current(address, connections.get()).await?;
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

    /// The keys of the database. Their tables are created if missing.
    pub(crate) async fn keys(&self) -> reflect_engine::Result<KeyStore> {
        match self {
            Self::File(path, _) => KeyStore::on_file(path).await,
            Self::Postgres(store) => KeyStore::on_postgres(Arc::clone(store)).await,
        }
    }

    /// The keys of the database; `None` if no server has used it, which makes the next one create a master
    /// key.
    pub(crate) async fn existing_keys(&self) -> reflect_engine::Result<Option<KeyStore>> {
        match self {
            Self::File(path, _) => KeyStore::existing_on_file(path).await,
            Self::Postgres(store) => KeyStore::existing_on_postgres(Arc::clone(store)).await,
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
        for address in [
            "postgres://me:secret@host/db",
            "Postgres://me:secret@host/db",
            "POSTGRESQL://me:secret@host/db",
        ] {
            let data = Data::parse(address).unwrap();
            assert!(data.file().is_none());
            assert!(!format!("{data} {data:?}").contains("secret"));
            let Data::Postgres(kept) = data else {
                panic!("{address} is a file");
            };
            assert!(kept.expose_secret().starts_with("postgres"));
        }
        for path in ["reflect.db", "sqlite:reflect.db"] {
            let data = Data::parse(path).unwrap();
            assert_eq!(data.file(), Some(Path::new("reflect.db")));
        }
        for path in ["", "sqlite:"] {
            let refused = Data::parse(path).unwrap_err();
            assert!(refused.starts_with("the path is empty"), "{refused}");
        }
        for path in ["postgres.db", "/home/me@work/postgres.db", "größe"] {
            assert_eq!(Data::parse(path).unwrap().file(), Some(Path::new(path)));
        }
    }

    #[test]
    fn a_folder_that_cannot_be_searched_is_not_a_missing_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let inside = Data::File(file.path().join("reflect.db"));
        let refused = inside.existing("write another").unwrap_err().to_string();
        assert!(refused.contains("may read its folder"), "{refused}");
        let beside = Data::File(file.path().with_file_name("none.db"));
        let missing = beside.existing("write another").unwrap_err().to_string();
        assert!(
            missing.ends_with("no such file: write another"),
            "{missing}"
        );
    }

    #[test]
    fn another_address_is_refused_without_its_password() {
        for (address, shown) in [
            ("mysql://me:secret@h/db", "mysql://"),
            (
                "postgresql+psycopg://me:secret@h/db",
                "postgresql+psycopg://",
            ),
            ("secret@h://db", "no address"),
            ("postgres:/me:secret@h/db", "no address"),
            ("host=h user=me password=secret", "no address"),
        ] {
            let refused = Data::parse(address).unwrap_err();
            assert!(refused.contains(shown), "{refused}");
            assert!(refused.contains("postgres://"), "{refused}");
            assert!(refused.contains("postgresql://"), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }
}
