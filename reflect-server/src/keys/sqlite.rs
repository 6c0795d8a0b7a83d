//! Keys in SQLite: in the engine's file, in a table and on connections of their own, or in memory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use reflect_engine::{Error, Result};
use reflect_types::{KeyId, ProjectId, Scope};
use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Row, Transaction, TransactionBehavior, params,
};

use super::store::{KeyRecord, KeyStore};
use super::text::SecretHash;

/// The migrations, in order. The engine has its own.
const MIGRATIONS: &[&str] = &[
    include_str!("0001_keys.sql"),
    include_str!("0002_key_limits.sql"),
    include_str!("0003_created_by.sql"),
];

/// Time to wait for another writer.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

const COLUMNS: &str = "id, public_id, hash, project, owner, label, scopes, environment, \
                       created_at, last_used_at, revoked_at, expires_at, max_alpha, created_by";

/// Stores keys in the engine's SQLite file, or in memory.
#[derive(Clone, Debug)]
pub struct Sqlite {
    path: Arc<Path>,
    writing: Arc<Mutex<Connection>>,
    /// For a file a separate connection, because a write may wait for the file's lock and every request
    /// looks up a key.
    reading: Arc<Mutex<Connection>>,
    is_new: bool,
}

impl Sqlite {
    /// Opens the engine's file and creates the tables if missing.
    ///
    /// This blocks: in async code, call it through `spawn_blocking`.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let path: Arc<Path> = path.into().into();
        let opened = connect(&path).and_then(|(writing, is_new)| {
            let reading = connect_to_read(&path)?;
            Ok((writing, reading, is_new))
        });
        let (writing, reading, is_new) = opened.map_err(|error| fault(&path, error))?;
        Ok(Self {
            path,
            writing: Arc::new(Mutex::new(writing)),
            reading: Arc::new(Mutex::new(reading)),
            is_new,
        })
    }

    /// Creates an empty database in memory, which ends with this store.
    pub fn in_memory() -> Result<Self> {
        let path: Arc<Path> = Path::new(":memory:").into();
        let mut db = Connection::open_in_memory().map_err(|error| fault(&path, error))?;
        let is_new = migrate(&mut db).map_err(|error| fault(&path, error))?;
        let db = Arc::new(Mutex::new(db));
        Ok(Self {
            path,
            writing: Arc::clone(&db),
            reading: db,
            is_new,
        })
    }

    /// Opens the engine's file if it has the tables: if a server has used it.
    pub fn open_existing(path: impl Into<PathBuf>) -> Result<Option<Self>> {
        let path = path.into();
        let has_tables = connect_to_read(&path)
            .and_then(|db| db.table_exists(None, "server_format"))
            .map_err(|error| fault(&path, error))?;
        has_tables.then(|| Self::open(path)).transpose()
    }

    /// Whether [`open`](Self::open) created the tables: no server had used the file.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(&self.reading, work).await
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run(&self.writing, work).await
    }

    async fn run<T: Send + 'static>(
        &self,
        db: &Arc<Mutex<Connection>>,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (db, path) = (Arc::clone(db), Arc::clone(&self.path));
        let done = tokio::task::spawn_blocking(move || {
            let db = db.lock().unwrap_or_else(PoisonError::into_inner);
            work(&db).map_err(|error| fault(&path, error))
        });
        done.await
            .map_err(|error| Error::internal("a task of the key store did not finish", error))?
    }
}

impl Sqlite {
    /// Stores a key if its project has, or has not, a valid key: this one, or any (`None`). Returns
    /// whether it was stored.
    async fn insert_depending(
        &self,
        on: Option<&str>,
        record: KeyRecord,
        expected: bool,
    ) -> Result<bool> {
        let on = on.map(str::to_owned);
        self.write(move |db| {
            let project = record.project.as_ref().map(ProjectId::as_str);
            let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
            let found = transaction
                .prepare_cached(
                    "SELECT 1 FROM api_key \
                     WHERE (?1 IS NULL OR public_id = ?1) AND project IS ?2 \
                     AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?3)",
                )?
                .exists(params![on, project, record.key.created_at])?;
            if found == expected {
                insert(&transaction, &record)?;
            }
            transaction.commit()?;
            Ok(found == expected)
        })
        .await
    }
}

#[async_trait]
impl KeyStore for Sqlite {
    async fn insert(&self, record: KeyRecord) -> Result<()> {
        self.write(move |db| insert(db, &record)).await
    }

    async fn insert_first(&self, record: KeyRecord) -> Result<bool> {
        self.write(move |db| {
            let project = record.project.as_ref().map(ProjectId::as_str);
            // An immediate transaction takes the lock, so that two processes cannot both be first.
            let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
            let has_one = transaction
                .prepare_cached("SELECT 1 FROM api_key WHERE project IS ?1")?
                .exists([project])?;
            if !has_one {
                insert(&transaction, &record)?;
            }
            transaction.commit()?;
            Ok(!has_one)
        })
        .await
    }

    async fn insert_if_none_is_valid(&self, record: KeyRecord) -> Result<bool> {
        self.insert_depending(None, record, false).await
    }

    async fn insert_by(&self, creator: &str, record: KeyRecord) -> Result<bool> {
        self.insert_depending(Some(creator), record, true).await
    }

    async fn projects(&self) -> Result<Vec<ProjectId>> {
        self.read(|db| {
            let query = "SELECT DISTINCT project FROM api_key WHERE project IS NOT NULL";
            let mut rows = db.prepare_cached(query)?;
            let names = rows.query_map([], |row| Ok(ProjectId::new(row.get::<_, String>(0)?)))?;
            names.collect()
        })
        .await
    }

    async fn public_ids(&self) -> Result<HashSet<String>> {
        self.read(|db| {
            let query = "SELECT public_id FROM api_key WHERE revoked_at IS NULL";
            let mut rows = db.prepare_cached(query)?;
            rows.query_map([], |row| row.get(0))?.collect()
        })
        .await
    }

    async fn find(&self, public_id: &str) -> Result<Option<KeyRecord>> {
        let public_id = public_id.to_owned();
        self.read(move |db| {
            let query = format!("SELECT {COLUMNS} FROM api_key WHERE public_id = ?1");
            db.prepare_cached(&query)?
                .query_row([&public_id], record)
                .optional()
        })
        .await
    }

    async fn list(&self, project: Option<&ProjectId>) -> Result<Vec<KeyRecord>> {
        let project = project.map(|project| project.as_str().to_owned());
        self.read(move |db| {
            let query = format!("SELECT {COLUMNS} FROM api_key WHERE project IS ?1 ORDER BY key");
            let mut rows = db.prepare_cached(&query)?;
            rows.query_map([&project], record)?.collect()
        })
        .await
    }

    async fn max_alpha(&self, id: &KeyId) -> Result<Option<f64>> {
        let id = id.clone();
        self.read(move |db| {
            let found = db
                .prepare_cached("SELECT max_alpha FROM api_key WHERE id = ?1")?
                .query_row([id.as_str()], |row| row.get(0))
                .optional()?;
            Ok(found.flatten())
        })
        .await
    }

    async fn revoke(
        &self,
        project: Option<&ProjectId>,
        id: &KeyId,
        now: &str,
    ) -> Result<Option<KeyRecord>> {
        let project = project.map(|project| project.as_str().to_owned());
        let (id, now) = (id.clone(), now.to_owned());
        self.write(move |db| {
            let query = format!(
                "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?3) \
                 WHERE id = ?1 AND project IS ?2 RETURNING {COLUMNS}"
            );
            db.prepare_cached(&query)?
                .query_row(params![id.as_str(), project, now], record)
                .optional()
        })
        .await
    }

    async fn touch(&self, uses: Vec<(KeyId, String)>) -> Result<()> {
        self.write(move |db| {
            let transaction = db.unchecked_transaction()?;
            for (id, at) in uses {
                transaction
                    .prepare_cached("UPDATE api_key SET last_used_at = ?2 WHERE id = ?1")?
                    .execute(params![id.as_str(), at])?;
            }
            transaction.commit()
        })
        .await
    }

    async fn delete_project(&self, project: &ProjectId) -> Result<bool> {
        let project = project.clone();
        self.write(move |db| {
            let gone = db.execute("DELETE FROM api_key WHERE project = ?1", [project.as_str()])?;
            Ok(gone > 0)
        })
        .await
    }
}

/// Opens the file for reading. Readers do not wait for writers.
fn connect_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let db = Connection::open(path)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}

/// Opens the file for writing; returns whether it had no tables.
fn connect(path: &Path) -> rusqlite::Result<(Connection, bool)> {
    let mut db = Connection::open(path)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    // A created or revoked key must survive a power failure.
    db.pragma_update(None, "synchronous", "FULL")?;
    let is_new = migrate(&mut db)?;
    Ok((db, is_new))
}

/// Runs the missing migrations; returns whether there were no tables.
fn migrate(db: &mut Connection) -> rusqlite::Result<bool> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS server_format (version INTEGER NOT NULL) STRICT",
    )?;
    let format: Option<i64> =
        transaction.query_row("SELECT max(version) FROM server_format", [], |row| {
            row.get(0)
        })?;
    let done = usize::try_from(format.unwrap_or(0)).unwrap_or(0);
    for (step, version) in MIGRATIONS.iter().zip(1_i64..).skip(done) {
        transaction.execute_batch(step)?;
        transaction.execute("INSERT INTO server_format VALUES (?1)", [version])?;
    }
    transaction.commit()?;
    Ok(format.is_none())
}

fn insert(db: &Connection, record: &KeyRecord) -> rusqlite::Result<()> {
    let key = &record.key;
    let scopes: Vec<&str> = key.scopes.iter().map(Scope::as_str).collect();
    db.execute(
        &format!(
            "INSERT INTO api_key ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, \
             ?12, ?13, ?14)"
        ),
        params![
            key.id.as_str(),
            key.public_id,
            record.hash.as_bytes(),
            record.project.as_ref().map(ProjectId::as_str),
            record.owner,
            key.label,
            scopes.join(" "),
            key.environment.as_str(),
            key.created_at,
            key.last_used_at,
            key.revoked_at,
            key.expires_at,
            key.max_alpha,
            key.created_by.as_ref().map(KeyId::as_str),
        ],
    )?;
    Ok(())
}

fn record(row: &Row<'_>) -> rusqlite::Result<KeyRecord> {
    let hash = SecretHash::from_bytes(row.get("hash")?);
    KeyRecord::read(|column| row.get(column), row.get("max_alpha")?, hash)
}

fn fault(path: &Path, error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Unavailable {
            message: "the database is busy with another writer: try again".to_owned(),
            source: Some(error.into()),
        },
        Some(ErrorCode::DiskFull) => Error::Unavailable {
            message: "the disk is full: make room and try again".to_owned(),
            source: Some(error.into()),
        },
        _ => Error::internal(
            format!("{}: cannot read or write the keys", path.display()),
            error,
        ),
    }
}
