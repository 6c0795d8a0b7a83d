mod shared;

use jiff::Timestamp;
use reflect_types::{Metadata, ProjectId};
use tokio_postgres::Client;

use super::Postgres;
use super::scratch::scratch_database as database;
use crate::store::{Intake, NewTrace, Store as _};

fn address() -> String {
    std::env::var("DATABASE_URL").expect("DATABASE_URL names a database")
}

async fn administrator() -> Client {
    let (client, connection) = tokio_postgres::connect(&address(), tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    client
}

/// `DATABASE_URL` with another user and database.
fn as_user(user: &str, password: &str, database: &str) -> String {
    let address = address();
    let (_, host) = address.split_once('@').unwrap();
    let (host, _) = host.split_once('/').unwrap();
    format!("postgres://{user}:{password}@{host}/{database}")
}

async fn refusal(address: &str) -> String {
    let refused = Postgres::connect(address).await.err();
    let refused = refused.unwrap_or_else(|| panic!("it is accepted"));
    let text = format!("{refused} {refused:?}");
    assert!(!text.contains("secret-password"), "{text}");
    refused.to_string()
}

#[tokio::test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn postgres_refuses_what_it_cannot_use_and_says_what_to_do() {
    let admin = administrator().await;
    let _ = admin
        .batch_execute("DROP DATABASE IF EXISTS test_plain")
        .await;
    let _ = admin
        .batch_execute("DROP ROLE IF EXISTS test_limited")
        .await;
    let role = "CREATE ROLE test_limited LOGIN PASSWORD 'secret-password'";
    admin.batch_execute(role).await.unwrap();
    admin
        .batch_execute("CREATE DATABASE test_plain")
        .await
        .unwrap();

    let wrong = as_user("test_limited", "not-the-secret-password", "test_plain");
    assert!(
        refusal(&wrong)
            .await
            .contains("refuses this user or password")
    );
    let missing = as_user("test_limited", "secret-password", "test_nowhere");
    assert!(refusal(&missing).await.contains("no such database"));
    let limited = as_user("test_limited", "secret-password", "test_plain");
    let refused = refusal(&limited).await;
    assert!(refused.contains("CREATE EXTENSION vector"), "{refused}");
    let unencrypted = format!("{limited}?sslmode=require");
    assert!(refusal(&unencrypted).await.contains("TLS fails"));
    let nobody = "postgres://me:secret-password@127.0.0.1:1/db";
    assert!(refusal(nobody).await.contains("cannot be reached"));
}

/// The number of tables in a database.
async fn tables(address: &str) -> i64 {
    let connected = tokio_postgres::connect(address, tokio_postgres::NoTls);
    let (client, connection) = connected.await.unwrap();
    tokio::spawn(connection);
    let count = "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()";
    client.query_one(count, &[]).await.unwrap().get(0)
}

#[tokio::test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn postgres_refuses_a_hidden_pgvector_unchanged() {
    let admin = administrator().await;
    for step in ["DROP DATABASE IF EXISTS", "CREATE DATABASE"] {
        let step = format!("{step} test_hidden_pgvector");
        admin.batch_execute(&step).await.unwrap();
    }
    let address = address();
    let (server, _) = address.rsplit_once('/').unwrap();
    let url = format!("{server}/test_hidden_pgvector");
    let connected = tokio_postgres::connect(&url, tokio_postgres::NoTls);
    let (client, connection) = connected.await.unwrap();
    tokio::spawn(connection);
    let extend = "CREATE SCHEMA apart; CREATE EXTENSION vector SCHEMA apart";
    client.batch_execute(extend).await.unwrap();
    let said = "in the schema `apart`";
    assert!(refusal(&url).await.contains(said));
    let looked = Postgres::connect_current(&url, 1).await;
    assert!(looked.unwrap_err().to_string().contains(said));
    assert_eq!(tables(&url).await, 0);
}

#[tokio::test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn postgres_gets_no_tables_from_who_only_looks() {
    let address = database("looked_at").await;
    let looked = || Postgres::connect_current(&address, 1);
    let refused = looked().await.unwrap_err();
    assert!(matches!(refused, crate::Error::Empty { .. }));
    assert_eq!(tables(&address).await, 0);
    drop(Postgres::connect(&address).await.unwrap());
    looked().await.unwrap();
}

#[tokio::test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn postgres_refuses_another_format_and_foreign_tables_unchanged() {
    let newer = database("newer").await;
    drop(Postgres::connect(&newer).await.unwrap());
    let admin = administrator().await;
    let stamp = "UPDATE test_newer.reflect_format SET format = 99";
    admin.batch_execute(stamp).await.unwrap();
    assert!(refusal(&newer).await.contains("upgrade Reflect"));

    let foreign = database("foreign").await;
    let table = "CREATE TABLE test_foreign.memory (id int)";
    admin.batch_execute(table).await.unwrap();
    assert!(refusal(&foreign).await.contains("not a Reflect database"));
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'test_foreign'";
    let count: i64 = admin.query_one(tables, &[]).await.unwrap().get(0);
    assert_eq!(count, 1);
}

/// What a migration of a later version does to the tables of this one, if it keeps its servers going.
#[tokio::test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn postgres_keeps_serving_while_a_newer_version_migrates() {
    let address = database("migrated").await;
    let running = Postgres::connect(&address).await.unwrap();
    let project = ProjectId::from("p");
    let insert = async |id: &str| {
        let trace = NewTrace {
            id: id.into(),
            task: "Refund order 7".to_owned(),
            trajectory: Vec::new(),
            final_response: String::new(),
            retrieved_memory_ids: Vec::new(),
            model: None,
            metadata: Metadata::new(),
            reference_context: None,
            arm: None,
            parent_run_id: None,
            session_id: None,
            usage: None,
            idempotency_key: None,
            key_id: None,
            creates_project: true,
            created_at: Timestamp::UNIX_EPOCH,
        };
        let stored = running.insert_trace(&project, trace, Intake::Unreviewed);
        stored.await.unwrap();
    };
    insert("before").await;
    let admin = administrator().await;
    let migrate = "ALTER TABLE test_migrated.trace ADD COLUMN newer TEXT NOT NULL DEFAULT ''; \
         ALTER TABLE test_migrated.trace ALTER COLUMN model TYPE VARCHAR(999); \
         ALTER TABLE test_migrated.memory ADD COLUMN newer TEXT; \
         CREATE INDEX ON test_migrated.trace (newer); \
         UPDATE test_migrated.reflect_format SET format = 99";
    admin.batch_execute(migrate).await.unwrap();
    insert("after").await;
    for id in ["before", "after"] {
        let found = running.trace(&project, &id.into()).await.unwrap();
        assert_eq!(found.unwrap().task, "Refund order 7");
    }
    assert_eq!(running.stats(&project).await.unwrap().traces, 2);
    // It may not start again.
    assert!(refusal(&address).await.contains("upgrade Reflect"));
}
