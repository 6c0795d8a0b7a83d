use super::super::conformance;
use super::Postgres;

/// An empty database of this name: a schema of the database in `DATABASE_URL`.
async fn database(name: &str) -> String {
    let address = std::env::var("DATABASE_URL").expect("DATABASE_URL names a database");
    let (client, connection) = tokio_postgres::connect(&address, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    let schema = format!("test_{name}");
    client
        .batch_execute(&format!(
            "SELECT pg_advisory_xact_lock(1); \
             CREATE EXTENSION IF NOT EXISTS vector SCHEMA public; \
             DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"
        ))
        .await
        .unwrap();
    let separator = if address.contains('?') { '&' } else { '?' };
    format!("{address}{separator}options=-csearch_path%3D{schema},public")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn postgres_conforms() {
    let store = Postgres::connect(&database("conforms").await)
        .await
        .unwrap();
    conformance::all(&store).await;
}
