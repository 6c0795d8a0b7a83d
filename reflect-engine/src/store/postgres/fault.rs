//! Errors of PostgreSQL as errors of the engine.

use std::error::Error as _;

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::error::SqlState;

use crate::error::Error;
use crate::store::sql::fault::Fault;

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::database(error)
    }
}

impl From<PoolError> for Fault {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Backend(error) => Self::database(error),
            other => Self::database(other),
        }
    }
}

/// Whether the transaction may succeed if it runs again at once: it met another one.
pub(super) fn met_another(fault: &Fault) -> bool {
    let Some(error) = fault.driver::<tokio_postgres::Error>() else {
        return false;
    };
    let meetings = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::UNIQUE_VIOLATION,
        // The project was deleted meanwhile.
        SqlState::FOREIGN_KEY_VIOLATION,
    ];
    error.code().is_some_and(|code| meetings.contains(code)) || is_stale_plan(fault)
}

/// Whether a prepared statement is of an older schema.
pub(super) fn is_stale_plan(fault: &Fault) -> bool {
    let error = fault.driver::<tokio_postgres::Error>();
    error.is_some_and(|error| {
        error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED)
            && error.to_string().contains("cached plan")
    })
}

/// A failure as an error of the engine, with the database it concerns. `address` has no password.
pub(super) fn at(fault: Fault, address: &str) -> Error {
    let error = match fault {
        Fault::Data(detail) => {
            return Error::Corrupt {
                path: address.into(),
                detail,
            };
        }
        Fault::Plain(error) => return error,
        Fault::Database(error) => error,
    };
    let error = match error.downcast::<tokio_postgres::Error>() {
        Ok(error) => return sql(*error, address),
        Err(other) => other,
    };
    match error.downcast_ref::<PoolError>() {
        Some(PoolError::Timeout(TimeoutType::Wait)) => Error::unavailable(
            "all connections to the database are busy: try again later, or allow more with --database-connections",
        ),
        Some(PoolError::Timeout(_)) => unreachable(None),
        Some(error) => Error::unavailable(format!("the store is closed: {error}")),
        None => Error::internal(format!("{address}: {error}"), error),
    }
}

pub(super) fn unreachable(source: Option<tokio_postgres::Error>) -> Error {
    Error::Unavailable {
        message: "the database cannot be reached: try again when it is back".to_owned(),
        source: source.map(Into::into),
    }
}

fn sql(error: tokio_postgres::Error, address: &str) -> Error {
    let inaccessible = |problem: String| Error::Inaccessible {
        path: address.into(),
        problem,
    };
    // Without the address: the text reaches remote callers and is stored with traces.
    let unavailable = |message: &str, error| Error::Unavailable {
        message: message.to_owned(),
        source: Some(Box::new(error)),
    };
    let Some(code) = error.code() else {
        let text = error.to_string();
        let cause = error.source().map_or_else(String::new, ToString::to_string);
        return if text.contains("TLS") {
            inaccessible(format!(
                "TLS fails ({cause}): check sslmode and sslrootcert in the address, and the \
                 server's certificate"
            ))
        } else if text.contains("configuration") {
            inaccessible(format!("the address is not complete ({cause}): correct it"))
        } else {
            unreachable(Some(error))
        };
    };
    match code.code() {
        "28P01" | "28000" => inaccessible(
            "PostgreSQL refuses this user or password: check both in the address, and pg_hba.conf"
                .to_owned(),
        ),
        "3D000" => inaccessible("there is no such database: create it with `createdb`".to_owned()),
        "42501" => inaccessible(format!(
            "this user may not do that ({}): grant it the right, or connect as the owner",
            message(&error)
        )),
        "25006" => unavailable(
            "the database is read-only, as a standby is: connect to the primary",
            error,
        ),
        "53100" => unavailable(
            "the disk of the database is full, nothing was stored: free some space and try again",
            error,
        ),
        "53300" => unavailable(
            "the database has no connection left: try again later, or raise its max_connections",
            error,
        ),
        "XX001" | "XX002" => Error::Corrupt {
            path: address.into(),
            detail: message(&error),
        },
        "40001" | "40P01" => unavailable(
            "other writes were faster several times, nothing was stored: try again",
            error,
        ),
        // Connection exceptions, insufficient resources, operator intervention, system errors.
        other
            if ["08", "53", "57", "58"]
                .iter()
                .any(|class| other.starts_with(class)) =>
        {
            unreachable(Some(error))
        }
        _ => Error::internal(format!("{address}: {}", message(&error)), error),
    }
}

/// What PostgreSQL says. Its detail may show a row, and is left out.
pub(super) fn message(error: &tokio_postgres::Error) -> String {
    error
        .as_db_error()
        .map_or_else(|| error.to_string(), |error| error.message().to_owned())
}
