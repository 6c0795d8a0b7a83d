//! Every key leads with the project, so that tables can be distributed or partitioned by it.

use std::collections::BTreeSet;

use reflect_engine::store::{Postgres, Sqlite};

use crate::stores::postgres_address;

/// The tables of the whole database. All others are a project's.
const OF_ALL_PROJECTS: [&str; 5] = [
    "embedder",
    "project",
    "reembedding",
    "reflect_format",
    "setting",
];

/// The columns of a primary key, a unique index or a foreign key, in their order.
#[derive(Debug)]
struct Key {
    table: String,
    name: String,
    columns: Vec<String>,
    /// The table that a foreign key points to.
    target: Option<String>,
}

impl Key {
    fn leads_with_project(&self) -> bool {
        let is_of_all = |table: &str| OF_ALL_PROJECTS.contains(&table);
        let target = self.target.as_deref();
        is_of_all(&self.table)
            // What is of all projects has no project to point to, but for the project itself.
            || target.is_some_and(|target| target != "project" && is_of_all(target))
            || self.columns.first().is_some_and(|column| column == "project")
    }
}

#[track_caller]
fn assert_led_by_project(tables: &BTreeSet<String>, keys: &[Key]) {
    let with_key: BTreeSet<_> = keys.iter().map(|key| &key.table).collect();
    let without_key: Vec<_> = tables
        .iter()
        .filter(|table| !with_key.contains(table) && !OF_ALL_PROJECTS.contains(&table.as_str()))
        .collect();
    assert!(without_key.is_empty(), "without any key: {without_key:?}");
    let others: Vec<String> = keys
        .iter()
        .filter(|key| !key.leads_with_project())
        .map(|key| format!("{}: {} ({})", key.table, key.name, key.columns.join(", ")))
        .collect();
    assert!(
        others.is_empty(),
        "these keys do not begin with the project:\n{}",
        others.join("\n")
    );
}

#[tokio::test]
async fn every_key_of_sqlite_leads_with_the_project() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    drop(Sqlite::open(&file).unwrap());
    let db = rusqlite::Connection::open(file).unwrap();
    let rows = |query: &str, table: &str| {
        let mut statement = db.prepare(query).unwrap();
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let rows = statement.query_map([table], read).unwrap();
        rows.collect::<Result<Vec<(String, Option<String>)>, _>>()
            .unwrap()
    };
    // Without the tables that a full-text search keeps for itself.
    let list =
        "SELECT name, NULL FROM pragma_table_list(?1) WHERE type = 'table' AND schema = 'main'";
    let names = "SELECT name, NULL FROM sqlite_schema WHERE type = ?1 AND name NOT LIKE 'sqlite_%'";
    let all = rows(names, "table").into_iter();
    let tables: BTreeSet<String> = all
        .map(|(name, _)| name)
        .filter(|name| !rows(list, name).is_empty())
        .collect();
    let mut keys = Vec::new();
    for table in &tables {
        let key = |name: String, target, columns: Vec<(String, Option<String>)>| Key {
            table: table.clone(),
            name,
            columns: columns.into_iter().map(|(column, _)| column).collect(),
            target,
        };
        let primary = "SELECT name, NULL FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk";
        let primary = rows(primary, table);
        // A whole number is the place of the row in the file, and no index.
        let is_place = matches!(&primary[..], [(column, _)] if column == "key");
        if !primary.is_empty() && !is_place {
            keys.push(key("primary key".to_owned(), None, primary));
        }
        let unique = "SELECT name, NULL FROM pragma_index_list(?1) WHERE \"unique\" = 1";
        for (index, _) in rows(unique, table) {
            let columns =
                "SELECT coalesce(name, ''), NULL FROM pragma_index_info(?1) ORDER BY seqno";
            let columns = rows(columns, &index);
            keys.push(key(index, None, columns));
        }
        let foreign =
            "SELECT DISTINCT CAST(id AS TEXT), \"table\" FROM pragma_foreign_key_list(?1)";
        for (id, target) in rows(foreign, table) {
            let columns = format!(
                "SELECT \"from\", NULL FROM pragma_foreign_key_list(?1) WHERE id = {id} ORDER BY seq"
            );
            keys.push(key("foreign key".to_owned(), target, rows(&columns, table)));
        }
    }
    assert_led_by_project(&tables, &keys);
}

#[tokio::test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
async fn every_key_of_postgres_leads_with_the_project() {
    let address = postgres_address().await;
    drop(Postgres::connect(&address).await.unwrap());
    let connected = tokio_postgres::connect(&address, tokio_postgres::NoTls);
    let (client, connection) = connected.await.unwrap();
    tokio::spawn(connection);
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
    let tables = client.query(tables, &[]).await.unwrap();
    let tables = tables.iter().map(|row| row.get(0)).collect();
    let unique = "SELECT i.indrelid, i.indexrelid::regclass::text AS name, i.indkey::int2[] AS columns, \
             NULL::oid AS target \
         FROM pg_index i WHERE i.indisunique";
    let foreign = "SELECT c.conrelid, c.conname::text, c.conkey, c.confrelid \
         FROM pg_constraint c WHERE c.contype = 'f'";
    // An expression is column 0, which has no name.
    let keys = format!(
        "SELECT t.relname::text, k.name, target.relname::text, \
             (SELECT array_agg(coalesce(a.attname::text, '') ORDER BY n) \
              FROM unnest(k.columns) WITH ORDINALITY u (number, n) \
              LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = u.number) \
         FROM ({unique} UNION ALL {foreign}) k (of, name, columns, target) \
         JOIN pg_class t ON t.oid = k.of AND t.relkind IN ('r', 'p') \
         LEFT JOIN pg_class target ON target.oid = k.target \
         WHERE t.relnamespace = current_schema()::regnamespace"
    );
    let keys = client.query(&keys, &[]).await.unwrap();
    let keys: Vec<Key> = keys
        .iter()
        .map(|row| Key {
            table: row.get(0),
            name: row.get(1),
            target: row.get(2),
            columns: row.get(3),
        })
        .collect();
    assert_led_by_project(&tables, &keys);
}
