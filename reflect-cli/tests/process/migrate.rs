//! `reflect migrate` between files and PostgreSQL.

use std::path::Path;
use std::process::Output;

use reflect_engine::store::scratch_database;
use serde_json::{Value, json};

use super::support::{errors, json, on_file, reflect, two_pending};

fn migrate(from: &str, to: &str, more: &[&str]) -> Output {
    let mut command = reflect();
    command.args(["migrate", from, to, "--json"]).args(more);
    command.output().unwrap()
}

/// A file with a project of two reviewed runs, with settings, and keys.
fn source(folder: &Path) -> String {
    let data = two_pending(folder);
    on_file(&data, &["review"], "y\nn\nIt was too late\n");
    for arguments in [
        &["projects", "set", "--max-alpha", "0.4"][..],
        &["keys", "create", "app", "--all"],
        &["keys", "create", "root", "--master"],
    ] {
        let done = on_file(&data, arguments, "");
        assert!(done.status.success(), "{}", errors(&done));
    }
    data.to_str().unwrap().to_owned()
}

/// Everything in a database, as commands show it.
fn contents(data: &str) -> Vec<Value> {
    let shown = [
        &["traces", "--json"][..],
        &["memories", "list", "--json"],
        &["projects", "--json"],
        &["keys", "list", "--json"],
        &["keys", "list", "--master", "--json"],
    ];
    let shown = shown
        .iter()
        .map(|show| json(&on_file(Path::new(data), show, "")));
    let exported = on_file(Path::new(data), &["export", "-"], "");
    let exported = String::from_utf8(exported.stdout).unwrap();
    // Without the heading, which has a date.
    let lines = exported.lines().skip(1).map(Value::from);
    shown.chain(lines).collect()
}

/// Migrates and compares, and again: nothing is stored twice.
fn arrives(from: &str, to: &str) {
    let first = json(&migrate(from, to, &[]));
    let expected = json!({"projects": 1, "stored": 4, "present": 0, "keys": 2});
    assert_eq!(first, expected);
    assert_eq!(contents(to), contents(from));
    let again = json(&migrate(from, to, &["--project", "default"]));
    let expected = json!({"projects": 1, "stored": 0, "present": 4, "keys": 0});
    assert_eq!(again, expected);
    assert_eq!(contents(to), contents(from));
}

#[test]
fn a_file_arrives_in_another_file_with_its_keys() {
    let folder = tempfile::tempdir().unwrap();
    let from = source(folder.path());
    let to = folder.path().join("copy.db");
    arrives(&from, to.to_str().unwrap());
}

#[test]
fn killed_migration_is_completed_by_another() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to, runs] = ["from.db", "to.db", "runs.jsonl"].map(|name| folder.path().join(name));
    let run =
        |number| format!("{{\"task\": \"Refund order {number}\", \"trajectory\": \"Done.\"}}\n");
    std::fs::write(&runs, (0..2_000).map(run).collect::<String>()).unwrap();
    let import = ["import", "--format", "jsonl", runs.to_str().unwrap()];
    let imported = on_file(&from, &import, "");
    assert!(imported.status.success(), "{}", errors(&imported));
    let [from, to] = [&from, &to].map(|path| path.to_str().unwrap());

    let mut first = reflect().args(["migrate", from, to]).spawn().unwrap();
    let log = folder.path().join("to.db-wal");
    // The tables alone take less.
    while !log.metadata().is_ok_and(|file| file.len() > 1_000_000) {
        assert_eq!(first.try_wait().unwrap(), None, "it ended too soon");
        std::thread::yield_now();
    }
    first.kill().unwrap();
    assert!(!first.wait().unwrap().success());

    let again = json(&migrate(from, to, &[]));
    let [present, stored] = ["present", "stored"].map(|name| again[name].as_u64().unwrap());
    assert!(present > 0 && stored > 0, "{again}");
    assert_eq!(present + stored, 2_000);
    assert_eq!(contents(to), contents(from));
}

#[test]
#[ignore = "needs PostgreSQL: cargo xtask test postgres"]
fn a_file_arrives_in_postgres_and_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let from = source(folder.path());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(scratch_database("migrate"));
    arrives(&from, &database);
    let back = folder.path().join("back.db");
    arrives(&database, back.to_str().unwrap());
    let other = runtime.block_on(scratch_database("migrate_again"));
    arrives(&database, &other);
}

#[test]
fn what_cannot_be_migrated_is_refused_before_anything_is_created() {
    let folder = tempfile::tempdir().unwrap();
    let from = source(folder.path());
    let to = folder.path().join("copy.db");
    let to = to.to_str().unwrap();
    for (from, to, more, code, said) in [
        ("/nowhere/reflect.db", to, &[][..], 2, "no such file"),
        (&from, &from, &[], 2, "the same database"),
        ("mysql://me@host/db", to, &[], 2, "no database for mysql://"),
        (&from, to, &["--project", "nope"], 4, "no project `nope`"),
    ] {
        let refused = migrate(from, to, more);
        assert_eq!(refused.status.code(), Some(code), "{refused:?}");
        assert!(errors(&refused).contains(said), "{}", errors(&refused));
    }
    assert!(!Path::new(to).exists());
}
