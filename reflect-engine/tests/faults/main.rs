//! Faults of files, disks and processes: each one is a clear error, and nothing is damaged.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure ends the run"
)]

#[path = "../common/mod.rs"]
mod common;
mod refused;
mod shared;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::child::{self, ChildLines};
use common::{learn, project, recalled, record, run, run_with};
use reflect_engine::Engine;
use reflect_engine::model::HashedEmbedder;
use reflect_engine::store::Sqlite;
use reflect_types::{CreateTrace, QueryMemories, Review, TraceId, Verdict};
use tempfile::TempDir;

#[tokio::test]
async fn starting_outside_of_a_runtime_is_an_error_with_advice() {
    let started = std::thread::spawn(|| Engine::builder().start().unwrap_err());
    let error = started.join().unwrap();
    assert!(
        error.to_string().contains("inside a tokio runtime"),
        "{error}"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_is_reported_and_stored_traces_stay() {
    let (_folder, file) = filled().await;
    let plain = child::command("the_other_process", "fill", &file);
    // A limit on file sizes makes writes fail like a full disk.
    let mut child = std::process::Command::new("sh")
        .args(["-c", "ulimit -f 4000; trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(plain.get_program())
        .args(plain.get_args())
        .envs(
            plain
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines: Vec<String> = ChildLines::of(&mut child).collect();
    assert!(child.wait().unwrap().success());
    let (error, stored) = lines.split_last().unwrap();
    assert!(
        error.contains("unavailable") && error.contains("disk"),
        "{error}"
    );
    assert!(stored.len() > 10, "the disk was full at once");

    let engine = engine(&file);
    for id in stored {
        engine
            .get_trace(&project(), &TraceId::from(id.as_str()))
            .await
            .unwrap();
    }
    let count = engine.stats(&project()).await.unwrap().traces;
    assert_eq!(count, stored.len() as u64 + 1);
    // With room again, writes succeed.
    record(&engine, run("Pay the fee")).await;
    engine.shutdown().await.unwrap();
    let check = open_plainly(&file).query_row("PRAGMA integrity_check", [], |row| row.get(0));
    assert_eq!(check, Ok("ok".to_owned()));
}

/// The entry point of the child processes; does nothing in the parent.
#[test]
fn the_other_process() {
    let Some((role, file)) = child::role() else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        match role.as_str() {
            "open" => match Sqlite::open(&file) {
                Ok(_) => child::send("it was opened"),
                Err(error) => child::send(&error.to_string()),
            },
            "learn" => {
                let engine = engine(&file);
                let shared = learn(&engine, run("Pay the first bill"), Verdict::Pass).await;
                child::send(shared.as_str());
                for n in 0..100 {
                    let trace = run_with(&format!("Pay bill {n} over there"), &[&shared]);
                    learn(&engine, trace, Verdict::Pass).await;
                }
                engine.shutdown().await.unwrap();
                child::send("done");
            }
            "fill" => {
                let engine = engine(&file);
                loop {
                    let trace = CreateTrace::new("Pay the bill", "It was paid. ".repeat(1_000));
                    match engine.create_trace(&project(), trace).await {
                        Ok(receipt) => child::send(receipt.trace_id.as_str()),
                        Err(error) => {
                            // Reading still works.
                            assert_eq!(count(&engine).await, 1);
                            child::send(&format!("{}: {error}", error.code()));
                            return;
                        }
                    }
                }
            }
            other => panic!("no such role: {other}"),
        }
    });
}

/// A closed file with one memory.
async fn filled() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    let engine = engine(&file);
    let id = record(&engine, run("Pay the bill")).await;
    engine
        .review_trace(&project(), &id, Review::pass())
        .await
        .unwrap();
    engine.shutdown().await.unwrap();
    assert!(
        !folder.path().join("reflect.db-wal").exists(),
        "the log was not written back"
    );
    (folder, file)
}

fn engine(file: &Path) -> Engine {
    let store = Arc::new(Sqlite::open(file).unwrap());
    let builder = Engine::builder()
        .store(store)
        .embedder(Arc::new(HashedEmbedder));
    builder.start().unwrap()
}

async fn count(engine: &Engine) -> usize {
    recalled(engine, &QueryMemories::new("Pay the bill")).await
}

fn open_plainly(file: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(file).unwrap()
}
