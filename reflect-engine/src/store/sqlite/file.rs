//! Opening the file: whose it is, how old it is, and how it is to be used.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::fault::Fault;
use crate::error::Error;

/// `Rflt`: marks the file as ours.
const APPLICATION_ID: i64 = 0x5266_6c74;

/// One step each from the format before; the number of steps is the format.
const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/sqlite/0001_initial.sql"),
    include_str!("../../../migrations/sqlite/0002_embedder.sql"),
    include_str!("../../../migrations/sqlite/0003_failed_traces.sql"),
    include_str!("../../../migrations/sqlite/0004_judge_note.sql"),
    include_str!("../../../migrations/sqlite/0005_embedding_lengths.sql"),
];

/// How long to wait for another process to finish its write.
const BUSY: Duration = Duration::from_secs(5);

/// Opens the file for writing; the first thing that changes it is a migration it needs.
pub(super) fn open(path: &Path) -> Result<Connection, Fault> {
    let mut db = connect(path)?;
    // SQLite opens for reading what it may not write, and would fail only at the first write.
    if db.is_readonly(rusqlite::MAIN_DB)? {
        return Err(Fault::Plain(Error::Inaccessible {
            path: path.to_owned(),
            problem: "the file is read-only: make it and its directory writable for this user"
                .to_owned(),
        }));
    }
    // In one view: another process may be making the file right now.
    let view = db.unchecked_transaction()?;
    let found = format(&view, path)?;
    view.commit()?;
    if found < known() {
        migrate(&mut db, path)?;
    }
    use_wal(&db)?;
    // A commit is acknowledged, so it has to survive a power failure.
    db.pragma_update(None, "synchronous", "FULL")?;
    // On macOS a plain sync reaches the drive but not its platters.
    db.pragma_update(None, "fullfsync", true)?;
    db.pragma_update(None, "checkpoint_fullfsync", true)?;
    db.pragma_update(None, "foreign_keys", true)?;
    // Fewer, larger checkpoints: each is a sync of the whole file. 4,000 pages are 16 MB.
    db.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

/// Opens the file for reading.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, Fault> {
    let db = connect(path)?;
    db.pragma_update(None, "query_only", true)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

fn connect(path: &Path) -> Result<Connection, Fault> {
    make_private(path);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(BUSY)?;
    Ok(db)
}

/// Makes a file that is not there yet readable for its owner alone: it holds what agents were told.
/// SQLite gives its log the same permissions. Whatever goes wrong here, SQLite says better.
fn make_private(path: &Path) {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let _ = options.open(path);
}

/// The file's format: 0 where it is empty. Refuses what is not ours or too new.
fn format(db: &Connection, path: &Path) -> Result<i64, Fault> {
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
    if format > known() {
        return Err(Fault::Plain(Error::Newer {
            path: path.to_owned(),
            found: format,
            known: known(),
        }));
    }
    Ok(format)
}

fn known() -> i64 {
    MIGRATIONS.len().try_into().unwrap_or(i64::MAX)
}

/// All steps in one transaction: a file is of the old format or of the new one.
fn migrate(db: &mut Connection, path: &Path) -> Result<(), Fault> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Again, now that nobody else can: another process may just have done it.
    let from = format(&transaction, path)?;
    for step in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known())?;
    transaction.commit()?;
    Ok(())
}

/// Changing the journal does not wait for locks by itself.
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
                    && begun.elapsed() < BUSY =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as the version that knew so many formats left it, with a run and its memory.
    fn older(path: &Path, formats: usize) {
        let db = Connection::open(path).unwrap();
        for step in &MIGRATIONS[..formats] {
            db.execute_batch(step).unwrap();
        }
        db.execute_batch(
            "INSERT INTO project (id, revision) VALUES ('support', 1);
             INSERT INTO trace (project, id, receipt, ingest_status, metadata, retrieved, created_at,
                 task, final_response, trajectory, reviewed, created_memory)
             VALUES (1, 't-1', 'completed', 'completed', '{}', '[]', '2026-01-01T00:00:00Z',
                 'Refund order 7', 'done', '[]', 1, 'm-1');",
        )
        .unwrap();
        db.pragma_update(None, "application_id", APPLICATION_ID)
            .unwrap();
        let format = i64::try_from(formats).unwrap();
        db.pragma_update(None, "user_version", format).unwrap();
    }

    #[test]
    fn a_file_of_every_older_format_is_brought_up_to_date_with_what_it_holds() {
        let fresh = tempfile::tempdir().unwrap();
        let schema = |db: &Connection| {
            let mut select = db
                .prepare("SELECT name, sql FROM sqlite_schema ORDER BY name")
                .unwrap();
            let rows = select.query_map([], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
            });
            rows.unwrap().collect::<Result<Vec<_>, _>>().unwrap()
        };
        let newest = schema(&open(&fresh.path().join("reflect.db")).unwrap());
        for formats in 1..=MIGRATIONS.len() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("reflect.db");
            older(&path, formats);
            let db = open(&path).unwrap();
            assert_eq!(format(&db, &path).unwrap(), known());
            assert_eq!(schema(&db), newest, "from format {formats}");
            let task: String = db
                .query_row("SELECT task FROM trace WHERE id = 't-1'", [], |row| {
                    row.get(0)
                })
                .unwrap();
            assert_eq!(task, "Refund order 7");
        }
    }
}
