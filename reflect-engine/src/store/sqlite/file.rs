//! Opening a database: its owner, its format and its settings.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::dialect::DIALECT;
use crate::error::Error;
use crate::store::sql::fault::Fault;
use crate::store::sql::{FORMAT, SCHEMA};

/// `Rflt`, which marks a file as Reflect's.
const APPLICATION_ID: i64 = 0x5266_6c74;

/// How long to wait for a lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The prepared statements that a connection keeps.
const STATEMENTS: usize = 128;

/// What happens to a file that is missing or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Created,
    Refused,
}

/// Opens a file for writing. Nothing changes it before it is known to be ours.
pub(super) fn open(path: &Path, missing: Missing) -> Result<Connection, Fault> {
    if missing == Missing::Refused && !path.exists() {
        return Err(Fault::Plain(Error::Inaccessible {
            path: path.to_owned(),
            problem: "there is no such file".to_owned(),
        }));
    }
    let mut db = connect(path)?;
    // SQLite opens a read-only file all the same, and fails at the first write.
    if db.is_readonly(rusqlite::MAIN_DB)? {
        return Err(Fault::Plain(Error::Inaccessible {
            path: path.to_owned(),
            problem: "the file is read-only: make it and its directory writable for this user"
                .to_owned(),
        }));
    }
    // In one transaction: another process may be creating the file right now.
    let view = db.unchecked_transaction()?;
    let is_empty = is_empty(&view, path)?;
    view.commit()?;
    if is_empty {
        if missing == Missing::Refused {
            return Err(Fault::Plain(Error::Empty {
                path: path.to_owned(),
            }));
        }
        create(&mut db, path)?;
    }
    use_wal(&db)?;
    // A committed write is acknowledged, so it has to survive a power failure.
    db.pragma_update(None, "synchronous", "FULL")?;
    // On macOS a plain sync leaves the data in the drive's cache.
    db.pragma_update(None, "fullfsync", true)?;
    db.pragma_update(None, "checkpoint_fullfsync", true)?;
    // Fewer, larger checkpoints: each one syncs the whole file. 4,000 pages are 16 MB.
    db.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    // In kibibytes. A page that does not fit is written to the log before its transaction is complete,
    // and once more when it changes again.
    db.pragma_update(None, "cache_size", -16_384)?;
    prepare(&db)?;
    Ok(db)
}

/// Creates a database in memory.
pub(super) fn open_in_memory() -> Result<Connection, Fault> {
    let mut db = Connection::open_in_memory()?;
    create(&mut db, Path::new(":memory:"))?;
    prepare(&db)?;
    Ok(db)
}

/// Settings of a connection that writes.
fn prepare(db: &Connection) -> Result<(), Fault> {
    db.pragma_update(None, "foreign_keys", true)?;
    keep_statements(db)
}

/// Keeps statements prepared. Without the guarantee of a stable plan, SQLite prepares one again
/// whenever the value of a parameter might change its plan.
fn keep_statements(db: &Connection) -> Result<(), Fault> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.set_prepared_statement_cache_capacity(STATEMENTS);
    Ok(())
}

/// Opens a file for reading.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, Fault> {
    let db = connect(path)?;
    db.pragma_update(None, "query_only", true)?;
    keep_statements(&db)?;
    Ok(db)
}

fn connect(path: &Path) -> Result<Connection, Fault> {
    make_private(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    Ok(db)
}

/// Creates a missing file with permissions for its owner alone, which SQLite copies to its log.
/// Failures are left to SQLite, which reports them better.
fn make_private(path: &Path) {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// Whether nothing is in the file yet. Refuses a foreign file, and one of another format.
fn is_empty(db: &Connection, path: &Path) -> Result<bool, Fault> {
    let pragma = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, format) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, format, tables) {
        (0, 0, 0) => Ok(true),
        (APPLICATION_ID, FORMAT, _) => Ok(false),
        (APPLICATION_ID, found, _) => Err(Fault::Plain(Error::Newer {
            path: path.to_owned(),
            found,
            known: FORMAT,
        })),
        _ => Err(Fault::Plain(Error::Foreign {
            path: path.to_owned(),
        })),
    }
}

/// Creates the tables in one transaction, unless another process has done so meanwhile.
fn create(db: &mut Connection, path: &Path) -> Result<(), Fault> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if is_empty(&transaction, path)? {
        transaction.execute_batch(&DIALECT.write(SCHEMA))?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    transaction.commit()?;
    Ok(())
}

/// Switches to write-ahead logging. SQLite does not wait for locks here, so this does.
fn use_wal(db: &Connection) -> Result<(), Fault> {
    let begun = Instant::now();
    loop {
        match db.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))
        {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => {
                return Err(Fault::Plain(Error::unavailable(format!(
                    "the file system does not support write-ahead logging (journal mode stays \
                     `{mode}`): put the database on a local disk"
                ))));
            }
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether the file was deleted or moved away. SQLite keeps writing to it, and what it writes is lost when the
/// process ends.
pub(super) fn is_gone(db: &Connection) -> bool {
    // A database in memory has an empty path.
    let path = db.path().filter(|path| !path.is_empty());
    path.is_some_and(|path| !Path::new(path).exists())
}
