//! Empty databases for tests.

/// An empty database of this name: a schema of the database that `DATABASE_URL` names. What an earlier
/// run left there is removed.
///
/// # Panics
///
/// If `DATABASE_URL` names no database whose user may create schemas and extensions.
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should panic"
)]
pub async fn scratch_database(name: &str) -> String {
    let address = std::env::var("DATABASE_URL").expect("DATABASE_URL names a database");
    let (client, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let schema = format!("test_{name}");
    // Of several creators of an extension, all but one would fail.
    let extend = "SELECT pg_advisory_xact_lock(1); \
         CREATE EXTENSION IF NOT EXISTS vector SCHEMA public";
    client.batch_execute(extend).await.unwrap();
    let create = format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}");
    client.batch_execute(&create).await.unwrap();
    let separator = if address.contains('?') { '&' } else { '?' };
    format!("{address}{separator}options=-csearch_path%3D{schema},public")
}
