//! Opening a database: its owner, its format and its settings.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::fault::Fault;
use super::migrations;
use crate::error::Error;

/// `Rflt`, which marks a file as Reflect's.
const APPLICATION_ID: i64 = 0x5266_6c74;

/// How long to wait for a lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The prepared statements that a connection keeps.
const STATEMENTS: usize = 64;

/// What happens to a file of an older format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Older {
    Migrated,
    Refused,
}

/// Opens a file for writing. Nothing changes it before its migration.
pub(super) fn open(path: &Path, older: Older) -> Result<Connection, Fault> {
    if older == Older::Refused && !path.exists() {
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
    let found = format(&view, path)?;
    view.commit()?;
    if found < migrations::current() {
        if older == Older::Refused {
            return Err(Fault::Plain(Error::Older {
                path: path.to_owned(),
                found,
                known: migrations::current(),
            }));
        }
        migrate(&mut db, path)?;
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
    migrate(&mut db, Path::new(":memory:"))?;
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

/// The file's format, 0 for an empty file. Refuses a foreign or newer file.
pub(super) fn format(db: &Connection, path: &Path) -> Result<i64, Fault> {
    let pragma = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (application, format) = (pragma("application_id")?, pragma("user_version")?);
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if application != APPLICATION_ID {
        return match (application, format, tables) {
            (0, 0, 0) => Ok(0),
            _ => Err(Fault::Plain(Error::Foreign {
                path: path.to_owned(),
            })),
        };
    }
    if format > migrations::current() {
        return Err(Fault::Plain(Error::Newer {
            path: path.to_owned(),
            found: format,
            known: migrations::current(),
        }));
    }
    Ok(format)
}

/// Runs all migrations in one transaction, so that a file has the old format or the new one.
fn migrate(db: &mut Connection, path: &Path) -> Result<(), Fault> {
    // A migration may rewrite the schema, which some builds of SQLite refuse by default.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, false)?;
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read again under the lock: another process may have migrated the file meanwhile.
    let from = format(&transaction, path)?;
    migrations::run(&transaction, from)?;
    stamp(&transaction, migrations::current())?;
    transaction.commit()?;
    Ok(())
}

/// Marks a file as Reflect's, in this format.
pub(super) fn stamp(db: &Connection, format: i64) -> Result<(), Fault> {
    db.pragma_update(None, "application_id", APPLICATION_ID)?;
    db.pragma_update(None, "user_version", format)?;
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

/// Writes a row.
pub(super) fn check_writable(db: &Connection) -> Result<(), Fault> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO setting (name, value) VALUES ('writable', hex(randomblob(16384)))",
    )?
    .execute([])?;
    Ok(())
}
