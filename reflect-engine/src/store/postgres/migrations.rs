//! The formats of a database, and the steps from each to the next.

use deadpool_postgres::Object;
use tokio_postgres::GenericClient;

use super::fault::{Fault, message};
use super::sql::Db;
use super::{memories, trace_labels};
use crate::error::Error;

pub(super) const MIGRATIONS: &[&str] = &[
    include_str!("../../../migrations/postgres/0001_initial.sql"),
    include_str!("../../../migrations/postgres/0002_directions.sql"),
    include_str!("../../../migrations/postgres/0003_spans.sql"),
    include_str!("../../../migrations/postgres/0004_trace_labels.sql"),
    include_str!("../../../migrations/postgres/0005_vectors_by_embedder.sql"),
    include_str!("../../../migrations/postgres/0006_control.sql"),
    include_str!("../../../migrations/postgres/0007_personal_values.sql"),
    include_str!("../../../migrations/postgres/0008_numbers.sql"),
];

/// The first format with labels of traces.
const LABELS: i64 = 4;

/// The first format whose sketches tell all numbers apart.
const NUMBERS: i64 = 8;

/// The oldest PostgreSQL that has all that is used, as its `server_version_num`.
const OLDEST_SERVER: i64 = 140_000;

/// Held by the one process that migrates: `Reflect` in ASCII.
const LOCK: i64 = 0x0052_6566_6c65_6374;

/// The current format: the number of migrations.
pub(super) fn current() -> i64 {
    MIGRATIONS.len().try_into().unwrap_or(i64::MAX)
}

/// Migrates to the current format, in one transaction.
pub(super) async fn run(connection: &mut Object, address: &str) -> Result<(), Fault> {
    // A look first: servers start while others write, and most find nothing to do.
    if format(&***connection, address).await? == current() {
        return Ok(());
    }
    let db = connection.transaction().await?;
    db.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
        .await?;
    // Again under the lock: another process may have migrated meanwhile.
    let found = format(&*db, address).await?;
    if found == 0 {
        extend(&db, address).await?;
    }
    require_halfvec(&*db, address).await?;
    if found == 0 {
        let create = "CREATE TABLE reflect_format (format BIGINT NOT NULL); \
             INSERT INTO reflect_format VALUES (0)";
        db.batch_execute(create).await?;
    }
    for step in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        db.batch_execute(step).await?;
    }
    db.execute("UPDATE reflect_format SET format = $1", &[&current()])
        .await?;
    let db = Db::of_transaction(db);
    if found < LABELS {
        trace_labels::insert_all(&db).await?;
    }
    if found < NUMBERS {
        memories::sketch_all(&db).await?;
    }
    db.commit().await?;
    Ok(())
}

/// Refuses a database that [`run`] would change, and one that it could not.
pub(super) async fn require_current(connection: &Object, address: &str) -> Result<(), Fault> {
    let db = &***connection;
    let found = format(db, address).await?;
    if found == current() {
        return Ok(());
    }
    if is_extended(db, address).await? {
        require_halfvec(db, address).await?;
    }
    Err(Fault::Plain(Error::Older {
        path: address.into(),
        found,
        known: current(),
    }))
}

/// The database's format, 0 for one without our tables. Refuses a server that is too old, a newer format,
/// and the tables of another program.
async fn format(db: &impl GenericClient, address: &str) -> Result<i64, Fault> {
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
    let found = match (known.try_get(2)?, known.try_get(3)?) {
        (true, _) => {
            let format = db
                .query_one("SELECT max(format) FROM reflect_format", &[])
                .await?;
            format.try_get::<_, Option<i64>>(0)?.unwrap_or(0)
        }
        (false, true) => {
            let path = address.into();
            return Err(Error::Foreign { path }.into());
        }
        (false, false) => 0,
    };
    if found > current() {
        return Err(Fault::Plain(Error::Newer {
            path: address.into(),
            found,
            known: current(),
        }));
    }
    Ok(found)
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

/// Refuses a pgvector without vectors in half precision.
async fn require_halfvec(db: &impl GenericClient, address: &str) -> Result<(), Fault> {
    let version = "SELECT extversion, to_regtype('halfvec') IS NOT NULL FROM pg_extension \
         WHERE extname = 'vector'";
    let version = db.query_one(version, &[]).await?;
    let (found, has_halfvec): (&str, bool) = (version.try_get(0)?, version.try_get(1)?);
    if has_halfvec {
        return Ok(());
    }
    let problem = format!(
        "pgvector {found} is too old: install 0.7 or newer on the server, and have an administrator run \
         `ALTER EXTENSION vector UPDATE` in this database. Nothing was changed"
    );
    Err(Fault::Plain(inaccessible(address, problem)))
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
