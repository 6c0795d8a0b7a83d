//! The format of a database: its tables are ours, or there are none yet.

use deadpool_postgres::Object;
use tokio_postgres::GenericClient;

use super::dialect::DIALECT;
use super::fault::message;
use crate::error::Error;
use crate::store::sql::fault::Fault;
use crate::store::sql::{FORMAT, SCHEMA};

/// The oldest PostgreSQL that has all that is used, as its `server_version_num`.
const OLDEST_SERVER: i64 = 140_000;

/// Held by the one process that creates the tables: `Reflect` in ASCII.
const LOCK: i64 = 0x0052_6566_6c65_6374;

/// Creates the tables in an empty database, in one transaction.
pub(super) async fn create(connection: &mut Object, address: &str) -> Result<(), Fault> {
    // Servers start while others write, and most find nothing to do.
    if !is_empty(&***connection, address).await? {
        return Ok(());
    }
    let db = connection.transaction().await?;
    db.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
        .await?;
    // Again under the lock: another process may have created them meanwhile.
    if !is_empty(&*db, address).await? {
        return Ok(());
    }
    extend(&db, address).await?;
    db.batch_execute(&DIALECT.write(SCHEMA)).await?;
    let mark = format!(
        "CREATE TABLE reflect_format (format BIGINT NOT NULL); INSERT INTO reflect_format VALUES ({FORMAT})"
    );
    db.batch_execute(&mark).await?;
    Ok(db.commit().await?)
}

/// Refuses an empty database.
pub(super) async fn require(connection: &Object, address: &str) -> Result<(), Fault> {
    let db = &***connection;
    if is_empty(db, address).await? {
        is_extended(db, address).await?;
        let path = address.into();
        return Err(Error::Empty { path }.into());
    }
    Ok(())
}

/// Whether the database has none of our tables. Refuses a server that is too old, another format, and the tables of
/// another program.
async fn is_empty(db: &impl GenericClient, address: &str) -> Result<bool, Fault> {
    let known = db
        .query_one(
            "SELECT current_setting('server_version_num')::bigint, \
                 current_setting('server_version'), to_regclass('reflect_format') IS NOT NULL, \
                 to_regclass('trace') IS NOT NULL OR to_regclass('project') IS NOT NULL \
                 OR to_regclass('memory') IS NOT NULL",
            &[],
        )
        .await?;
    check_server(known.try_get(0)?, known.try_get(1)?, address)?;
    match (known.try_get(2)?, known.try_get(3)?) {
        (true, _) => {}
        (false, true) => {
            let path = address.into();
            return Err(Error::Foreign { path }.into());
        }
        (false, false) => return Ok(true),
    }
    let format = "SELECT max(format) FROM reflect_format";
    let found: Option<i64> = db.query_one(format, &[]).await?.try_get(0)?;
    match found {
        Some(FORMAT) => Ok(false),
        found => Err(Fault::Plain(Error::Newer {
            path: address.into(),
            found: found.unwrap_or(0),
            known: FORMAT,
        })),
    }
}

fn check_server(number: i64, version: &str, address: &str) -> Result<(), Error> {
    if number >= OLDEST_SERVER {
        return Ok(());
    }
    let problem = format!(
        "PostgreSQL {version} is too old: upgrade the server to 14 or newer, or choose another one. \
         Nothing was changed"
    );
    Err(inaccessible(address, problem))
}

fn inaccessible(address: &str, problem: String) -> Error {
    Error::Inaccessible {
        path: address.into(),
        problem,
    }
}

/// Whether the database has pgvector. Refuses one that cannot get it, or does not find it.
async fn is_extended(db: &impl GenericClient, address: &str) -> Result<bool, Fault> {
    let there = "SELECT n.nspname, to_regtype('vector') IS NOT NULL FROM pg_extension e \
         JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'";
    if let Some(there) = db.query_opt(there, &[]).await? {
        let (schema, found): (&str, bool) = (there.try_get(0)?, there.try_get(1)?);
        if found {
            return Ok(true);
        }
        let problem = format!(
            "pgvector is in the schema `{schema}`, where this user does not look: add it to the \
             user's search_path. Nothing was changed"
        );
        return Err(inaccessible(address, problem).into());
    }
    let available = "SELECT FROM pg_available_extensions WHERE name = 'vector'";
    if db.query_opt(available, &[]).await?.is_none() {
        let problem = "the server has no pgvector: install it there, as the package \
             `postgresql-NN-pgvector`. Nothing was changed";
        return Err(inaccessible(address, problem.to_owned()).into());
    }
    Ok(false)
}

/// Adds pgvector to the database, unless it is there.
async fn extend(db: &tokio_postgres::Transaction<'_>, address: &str) -> Result<(), Fault> {
    if is_extended(db, address).await? {
        return Ok(());
    }
    db.batch_execute("CREATE EXTENSION vector")
        .await
        .map_err(|error| {
            let problem = format!(
                "this user may not add pgvector ({}): have an administrator run \
                 `CREATE EXTENSION vector` in this database. Nothing was changed",
                message(&error)
            );
            Fault::Plain(inaccessible(address, problem))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_before_14_is_refused_and_the_message_says_what_to_do() {
        let refused = check_server(130_021, "13.21 (Debian)", "host/db").unwrap_err();
        let refused = refused.to_string();
        for part in ["host/db", "13.21", "14 or newer", "Nothing was changed"] {
            assert!(refused.contains(part), "{refused}");
        }
        for (number, version) in [(140_000, "14.0"), (180_001, "18.1")] {
            assert!(check_server(number, version, "host/db").is_ok());
        }
    }
}
