//! What goes wrong with files: each time a clear error, and nothing damaged.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failure ends the run"
)]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use common::child::{self, Told};
use common::{learn, project, q, record, run, run_with};
use reflect_engine::model::HashedEmbedder;
use reflect_engine::store::Sqlite;
use reflect_engine::{Engine, Error};
use reflect_types::{CreateTrace, ErrorCode, ListTraces, QueryMemories, Review, TraceId, Verdict};
use tempfile::TempDir;

#[tokio::test]
async fn a_newer_file_is_refused_and_says_to_upgrade() {
    let (_folder, file) = filled().await;
    open_plainly(&file)
        .pragma_update(None, "user_version", 99)
        .unwrap();
    let error = refused_unchanged(&file);
    assert!(matches!(error, Error::Newer { found: 99, .. }));
    assert!(error.to_string().contains("upgrade Reflect"), "{error}");
}

#[tokio::test]
async fn a_file_of_another_program_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("notes.db");
    open_plainly(&file)
        .execute_batch("CREATE TABLE note (text TEXT); INSERT INTO note VALUES ('mine')")
        .unwrap();
    let error = refused_unchanged(&file);
    assert!(matches!(error, Error::Foreign { .. }));
    assert!(
        error.to_string().contains("not a Reflect database"),
        "{error}"
    );

    let marked = folder.path().join("marked.db");
    open_plainly(&marked)
        .pragma_update(None, "application_id", 1)
        .unwrap();
    assert!(matches!(refused_unchanged(&marked), Error::Foreign { .. }));

    let prose = folder.path().join("prose.txt");
    std::fs::write(&prose, "Dear diary, this is no database. ".repeat(300)).unwrap();
    assert!(matches!(refused_unchanged(&prose), Error::Foreign { .. }));
}

#[tokio::test]
async fn a_damaged_file_is_told_as_such_and_not_made_worse() {
    // The schema itself: found when opening.
    let (_folder, file) = filled().await;
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[100..3_000].fill(0xa5);
    std::fs::write(&file, &bytes).unwrap();
    let error = refused_unchanged(&file);
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert!(error.to_string().contains("restore a backup"), "{error}");

    // The traces: found when reading them.
    let (_folder, file) = filled().await;
    let pages: Vec<u32> = {
        let db = open_plainly(&file);
        let roots = "SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'trace'";
        let mut select = db.prepare(roots).unwrap();
        let pages = select.query_map([], |row| row.get(0)).unwrap();
        pages.map(Result::unwrap).collect()
    };
    let mut bytes = std::fs::read(&file).unwrap();
    for page in pages {
        let end = page as usize * 4_096;
        bytes[end - 4_096..end].fill(0xa5);
    }
    std::fs::write(&file, &bytes).unwrap();
    let engine = engine(&file);
    let list = ListTraces::default();
    let error = engine.list_traces(&project(), &list).await.unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    let error = engine
        .create_trace(&project(), run("t"), None)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
    assert_eq!(error.code(), ErrorCode::Internal);
    engine.shutdown().await.unwrap();
    assert!(
        std::fs::read(&file).unwrap() == bytes,
        "the file was changed"
    );
}

#[tokio::test]
async fn a_place_where_no_file_can_be_is_told_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("no/such/folder/reflect.db");
    for path in [absent.as_path(), folder.path()] {
        let error = Sqlite::open(path).unwrap_err();
        assert!(matches!(error, Error::Inaccessible { .. }), "{error:?}");
        assert!(
            error
                .to_string()
                .contains("check that its directory exists"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_locked_database_is_unavailable_for_writing_and_readable_meanwhile() {
    let (_folder, file) = filled().await;
    let engine = engine(&file);
    let rival = open_plainly(&file);
    rival.execute_batch("BEGIN IMMEDIATE").unwrap();
    let project = project();
    let writing = engine.create_trace(&project, run("Pay the fee"), Some("the-key"));
    let query = QueryMemories::new("Pay the bill");
    let reading = engine.query_memories(&project, &query);
    let (written, read) = tokio::join!(writing, reading);
    assert_eq!(read.unwrap().len(), 1);
    let error = written.unwrap_err();
    assert!(error.is_retryable());
    assert!(
        error.to_string().contains("holds the database locked"),
        "{error}"
    );
    rival.execute_batch("ROLLBACK").unwrap();
    let again = engine
        .create_trace(&project, run("Pay the fee"), Some("the-key"))
        .await;
    again.unwrap();
    assert_eq!(engine.stats(&project).await.unwrap().traces, 2);
}

#[tokio::test]
async fn an_empty_file_becomes_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    std::fs::write(&file, "").unwrap();
    let engine = engine(&file);
    learn(&engine, run("Pay the bill"), Verdict::Pass).await;
}

#[tokio::test]
async fn an_engine_outside_of_a_runtime_says_where_to_start_it() {
    let started = std::thread::spawn(|| Engine::builder().start().unwrap_err());
    let error = started.join().unwrap();
    assert!(
        error.to_string().contains("inside a tokio runtime"),
        "{error}"
    );
}

#[tokio::test]
async fn two_engines_on_one_file_see_what_the_other_learned() {
    let (_folder, file) = filled().await;
    let (one, two) = (engine(&file), engine(&file));
    let count = async |engine: &Engine| {
        let query = QueryMemories::new("Pay the bill");
        engine
            .query_memories(&project(), &query)
            .await
            .unwrap()
            .len()
    };
    assert_eq!((count(&one).await, count(&two).await), (1, 1));
    let memory = learn(&one, run("Pay the bill of May"), Verdict::Pass).await;
    assert_eq!((count(&one).await, count(&two).await), (2, 2));
    learn(
        &two,
        run_with("Pay the bill of June", &[&memory]),
        Verdict::Pass,
    )
    .await;
    let query = QueryMemories::new("Pay the bill of May");
    let seen = one.query_memories(&project(), &query).await.unwrap();
    let seen = seen.iter().find(|found| found.id == memory).unwrap();
    assert!((seen.q_value - 0.65).abs() < 1e-12);
    two.delete_project(&project()).await.unwrap();
    assert_eq!((count(&one).await, count(&two).await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_on_one_file_learn_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("reflect.db");
    // Both make the file, at the same time.
    let mut child = child::command("the_other_process", "learn", &file)
        .spawn()
        .unwrap();
    let here = engine(&file);
    let mut told = Told::of(&mut child);
    let shared = told.next().unwrap().as_str().into();
    let reviewing = async {
        for n in 0..100 {
            learn(
                &here,
                run_with(&format!("Pay bill {n}"), &[&shared]),
                Verdict::Pass,
            )
            .await;
        }
    };
    let (there, ()) = tokio::join!(
        tokio::task::spawn_blocking(move || told.collect::<Vec<_>>()),
        reviewing
    );
    assert_eq!(there.unwrap(), ["done"]);
    assert!(child.wait().unwrap().success());
    let history = here.get_memory(&project(), &shared).await.unwrap();
    assert_eq!((history.events.len(), history.memory.uses), (200, 200));
    assert!(q(&here, &shared).await > 0.99);
    let stats = here.stats(&project()).await.unwrap();
    assert_eq!((stats.memories, stats.passed), (201, 201));
    let query = QueryMemories {
        limit: 100,
        ..QueryMemories::new("Pay bill 7 over there")
    };
    let found = here.query_memories(&project(), &query).await.unwrap();
    assert!(
        found
            .iter()
            .any(|memory| memory.task.ends_with("over there"))
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_may_not_be_written_is_refused() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let (folder, file) = filled().await;
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let before = std::fs::read(&file).unwrap();
    for (file_mode, folder_mode) in [(0o444, 0o777), (0o666, 0o555), (0o444, 0o555)] {
        allow(&file, file_mode);
        allow(folder.path(), folder_mode);
        let mut child = child::command("the_other_process", "open", &file);
        // Root may write everything, so the child has to be somebody else.
        if std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
            child.uid(65_534).gid(65_534);
        }
        let mut child = match child.spawn() {
            Ok(child) => child,
            Err(error) => {
                println!("skipped: another user cannot run this test ({error})");
                return;
            }
        };
        let told: Vec<String> = Told::of(&mut child).collect();
        child.wait().unwrap();
        let told = told.concat();
        assert!(
            told.contains("this user"),
            "{file_mode:o} in {folder_mode:o}: {told}"
        );
        assert!(
            std::fs::read(&file).unwrap() == before,
            "the file was changed"
        );
    }
    allow(folder.path(), 0o755);
    allow(&file, 0o644);
    assert_eq!(count(&engine(&file)).await, 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_full_disk_is_told_and_what_was_stored_stays() {
    let (_folder, file) = filled().await;
    let plain = child::command("the_other_process", "fill", &file);
    // A limit on the size of files stands in for the end of the disk: writes fail alike.
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
    let told: Vec<String> = Told::of(&mut child).collect();
    assert!(child.wait().unwrap().success());
    let (error, stored) = told.split_last().unwrap();
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
    // With room again it goes on.
    record(&engine, run("Pay the fee")).await;
    engine.shutdown().await.unwrap();
    let check = open_plainly(&file).query_row("PRAGMA integrity_check", [], |row| row.get(0));
    assert_eq!(check, Ok("ok".to_owned()));
}

/// Does nothing by itself: this is what the other processes run.
#[test]
fn the_other_process() {
    let Some((role, file)) = child::role() else {
        return;
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        match role.as_str() {
            "open" => match Sqlite::open(&file) {
                Ok(_) => child::tell("it was opened"),
                Err(error) => child::tell(&error.to_string()),
            },
            "learn" => {
                let engine = engine(&file);
                let shared = learn(&engine, run("Pay the first bill"), Verdict::Pass).await;
                child::tell(shared.as_str());
                for n in 0..100 {
                    let trace = run_with(&format!("Pay bill {n} over there"), &[&shared]);
                    learn(&engine, trace, Verdict::Pass).await;
                }
                engine.shutdown().await.unwrap();
                child::tell("done");
            }
            "fill" => {
                let engine = engine(&file);
                loop {
                    let trace = CreateTrace::new("Pay the bill", "It was paid. ".repeat(1_000));
                    match engine.create_trace(&project(), trace, None).await {
                        Ok(receipt) => child::tell(receipt.trace_id.as_str()),
                        Err(error) => {
                            // Reading still works.
                            assert_eq!(count(&engine).await, 1);
                            child::tell(&format!("{}: {error}", error.code()));
                            return;
                        }
                    }
                }
            }
            other => panic!("no such role: {other}"),
        }
    });
}

/// A file with one memory, closed.
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
    let query = QueryMemories::new("Pay the bill");
    engine
        .query_memories(&project(), &query)
        .await
        .unwrap()
        .len()
}

fn open_plainly(file: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(file).unwrap()
}

/// Opening fails, and the folder is as it was.
fn refused_unchanged(file: &Path) -> Error {
    let folder = || {
        let mut files: Vec<_> = std::fs::read_dir(file.parent().unwrap())
            .unwrap()
            .map(|entry| {
                let path = entry.unwrap().path();
                (std::fs::read(&path).unwrap(), path)
            })
            .collect();
        files.sort();
        files
    };
    let before = folder();
    let error = Sqlite::open(file).unwrap_err();
    assert!(folder() == before, "something was changed");
    error
}
