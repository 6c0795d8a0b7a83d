//! Errors of SQLite as errors of the engine.

use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::Error;
use crate::store::sql::fault::Fault;

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::database(error)
    }
}

/// A failure as an error of the engine, with the file it concerns.
pub(super) fn at(fault: Fault, path: &Path) -> Error {
    match fault {
        Fault::Database(error) => match error.downcast::<rusqlite::Error>() {
            Ok(error) => sql(*error, path),
            Err(other) => Error::internal(format!("{}: {other}", path.display()), other),
        },
        Fault::Data(detail) => Error::Corrupt {
            path: path.to_owned(),
            detail,
        },
        Fault::Plain(error) => error,
    }
}

fn sql(error: rusqlite::Error, path: &Path) -> Error {
    let inaccessible = |problem: &str| Error::Inaccessible {
        path: path.to_owned(),
        problem: problem.to_owned(),
    };
    // Without the path: the text reaches remote callers and is stored with traces.
    let unavailable = |message: String, error| Error::Unavailable {
        message,
        source: Some(Box::new(error)),
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => unavailable(
            "another process holds the database locked: try again when it is done".to_owned(),
            error,
        ),
        Some(ErrorCode::DiskFull) => unavailable(
            "the disk is full, nothing was stored: free some space and try again".to_owned(),
            error,
        ),
        Some(ErrorCode::SystemIoFailure) => unavailable(
            format!(
                "the disk failed or is full ({error}), nothing was stored: \
                 check it and try again"
            ),
            error,
        ),
        Some(ErrorCode::ReadOnly) => {
            inaccessible("the file or its directory is read-only: make both writable for this user")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => inaccessible(
            "the database cannot be opened: check that its directory exists and that this user \
             may read and write both",
        ),
        Some(ErrorCode::DatabaseCorrupt) => Error::Corrupt {
            path: path.to_owned(),
            detail: error.to_string(),
        },
        Some(ErrorCode::NotADatabase) => Error::Foreign {
            path: path.to_owned(),
        },
        _ => Error::internal(format!("{}: {error}", path.display()), error),
    }
}
