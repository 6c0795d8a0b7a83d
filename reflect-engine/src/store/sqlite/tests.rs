use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use reflect_types::{Message, Metadata, ProjectId, ReviewMode, Reviewer, TraceReceipt, Verdict};
use rusqlite::Connection;

use super::Sqlite;
use crate::error::{Error, Result};
use crate::review::NewReview;
use crate::store::sql::db::Db;
use crate::store::sql::driver::Driver as _;
use crate::store::sql::fault::Fault;
use crate::store::sql::value::params;
use crate::store::{Intake, JobKind, Lease, NewTrace, Store, Vectors as _};

mod groups;

fn store() -> (tempfile::TempDir, Arc<Sqlite>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path().join("reflect.db")).unwrap();
    store_is_set_up(&store);
    (folder, Arc::new(store))
}

fn store_is_set_up(store: &Sqlite) {
    let db = Connection::open(store.path()).unwrap();
    let mode: String = db
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

/// Runs statements in a write.
async fn execute(store: &Sqlite, statements: &[&'static str]) -> Result<()> {
    let run = store.write(statements.to_vec(), |db, statements: &Vec<&'static str>| {
        Box::pin(async move {
            for statement in statements {
                db.query(statement, &[]).await?;
            }
            Ok(())
        })
    });
    run.await
}

async fn add_project(db: &Db<'_>, name: &str) -> Result<(), Fault> {
    let insert = "INSERT INTO project (id) VALUES ($1) ON CONFLICT DO NOTHING";
    db.execute(insert, &params![name]).await.map(drop)
}

/// Adds a project by a write of its own.
async fn add(store: &Sqlite, name: String) -> Result<()> {
    let added = store.write(name, |db, name| Box::pin(add_project(db, name)));
    added.await
}

/// Blocks the writing thread until the returned sender is dropped.
async fn hold(store: &Arc<Sqlite>) -> std::sync::mpsc::Sender<()> {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (begun, mut waiting) = tokio::sync::mpsc::unbounded_channel();
    let writer = Arc::clone(store);
    tokio::spawn(async move {
        let held = writer.write((begun, Mutex::new(held)), |_, (begun, held)| {
            Box::pin(async move {
                let _ = begun.send(());
                let _ = held.lock().unwrap().recv();
                Ok(())
            })
        });
        held.await
    });
    waiting.recv().await.unwrap();
    release
}

#[tokio::test]
async fn a_reembedding_that_waits_is_looked_at_without_a_write() {
    let (_folder, store) = store();
    let now = Timestamp::UNIX_EPOCH;
    store.queue_reembedding("e", now, false).await.unwrap();
    let release = hold(&store).await;
    let limit = std::time::Duration::from_secs(20);
    let looked = tokio::time::timeout(limit, store.queue_reembedding("e", now, false)).await;
    looked.expect("it waits for the writing thread").unwrap();
    drop(release);
}

/// Queues all writes behind a blocked thread, in order, then unblocks it.
async fn together<F>(store: &Arc<Sqlite>, writes: Vec<F>) -> Vec<Result<()>>
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    let release = hold(store).await;
    // The current-thread runtime polls the tasks in order, and the first poll sends.
    let waiting: Vec<_> = writes.into_iter().map(tokio::spawn).collect();
    tokio::task::yield_now().await;
    drop(release);
    let mut answers = Vec::new();
    for write in waiting {
        answers.push(write.await.unwrap());
    }
    answers
}

#[tokio::test]
async fn commits_are_synced_and_foreign_keys_enforced() {
    let (_folder, store) = store();
    for (pragma, expected) in [("PRAGMA synchronous", 2_i64), ("PRAGMA foreign_keys", 1)] {
        let read = store.write(pragma, |db, pragma| Box::pin(db.value(pragma, &[])));
        assert_eq!(read.await.unwrap(), Some(expected), "{pragma}");
    }
}

#[tokio::test]
async fn a_full_database_is_reported_and_recovers() {
    let (_folder, store) = store();
    add(&store, "first".to_owned()).await.unwrap();
    execute(&store, &["PRAGMA max_page_count = 1"])
        .await
        .unwrap();
    let add_to = |name: String| {
        let store = Arc::clone(&store);
        async move { add(&store, name).await }
    };
    let large = format!("large{}", "x".repeat(100_000));
    let answers = together(
        &store,
        vec![add_to("small".to_owned()), add_to(large.clone())],
    )
    .await;
    let error = answers[1].as_ref().unwrap_err();
    assert!(
        error.is_retryable() && error.to_string().contains("disk"),
        "{error}"
    );
    if let Err(error) = &answers[0] {
        assert!(error.is_retryable(), "{error}");
    }
    let stored = store.projects().await.unwrap().len();
    assert_eq!(
        stored,
        1 + usize::from(answers[0].is_ok()),
        "exactly the acknowledged writes are stored"
    );
    let grow = execute(&store, &["PRAGMA max_page_count = 1000000"]);
    grow.await.unwrap();
    add(&store, large).await.unwrap();
}

#[tokio::test]
async fn a_closed_store_is_unavailable() {
    let (_folder, store) = store();
    Store::close(&*store).await.unwrap();
    Store::close(&*store).await.unwrap();
    let read = store.projects().await.unwrap_err();
    let written = store
        .delete_project(&ProjectId::default())
        .await
        .unwrap_err();
    assert!(matches!(read, Error::Unavailable { .. }));
    assert!(matches!(written, Error::Unavailable { .. }));
}

fn run(id: &str, text: &str) -> NewTrace {
    NewTrace {
        id: id.into(),
        arm: None,
        parent_run_id: None,
        session_id: None,
        usage: None,
        idempotency_key: None,
        key_id: None,
        creates_project: true,
        task: "t".to_owned(),
        trajectory: vec![Message::assistant(text)],
        final_response: String::new(),
        retrieved_memory_ids: Vec::new(),
        model: None,
        metadata: Metadata::new(),
        reference_context: None,
        created_at: Timestamp::UNIX_EPOCH,
    }
}

async fn insert(store: &Sqlite, trace: NewTrace, intake: Intake) -> Result<TraceReceipt> {
    let project = ProjectId::default();
    store.insert_trace(&project, trace, intake).await
}

#[cfg(unix)]
#[test]
fn a_new_file_is_private_to_its_owner() {
    use std::os::unix::fs::PermissionsExt as _;

    let (folder, _store) = store();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", file.file_name());
    }
}

#[tokio::test]
async fn an_unreadable_trace_blocks_no_other_job() {
    let (_folder, store) = store();
    for id in ["t-0", "t-1"] {
        let review = NewReview {
            id: format!("r-{id}"),
            verdict: Verdict::Pass,
            feedback: None,
            alpha: 0.3,
            reflection: None,
            mode: ReviewMode::Inline,
            reviewer: Reviewer::Human,
            key_id: None,
            overruled: None,
            created_at: Timestamp::UNIX_EPOCH,
        };
        insert(&store, run(id, "done"), Intake::Queued(review))
            .await
            .unwrap();
    }
    let damage = execute(
        &store,
        &["UPDATE trace SET metadata = '{' WHERE id = 't-0'"],
    );
    damage.await.unwrap();
    let lease = Lease {
        owner: "one".to_owned(),
        until: Timestamp::from_second(60).unwrap(),
    };
    let claims = store
        .claim_jobs(JobKind::Reflection, Timestamp::UNIX_EPOCH, &lease, 9)
        .await
        .unwrap();
    let ids: Vec<_> = claims
        .jobs
        .iter()
        .map(|job| match &job.subject {
            crate::store::Subject::Reflection { trace, .. } => trace.id.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(ids, ["t-1"]);
    let status = store.read((), |db, ()| {
        let select = "SELECT ingest_status FROM trace WHERE id = 't-0'";
        Box::pin(db.value::<String>(select, &[]))
    });
    assert_eq!(status.await.unwrap().as_deref(), Some("failed"));
}

#[tokio::test]
async fn databases_in_memory_are_isolated() {
    let (one, two) = (Sqlite::in_memory().unwrap(), Sqlite::in_memory().unwrap());
    one.create_project(&ProjectId::from("mine")).await.unwrap();
    assert_eq!(one.projects().await.unwrap().len(), 1);
    assert!(two.projects().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_memory_serves_several_threads() {
    let store = Arc::new(Sqlite::in_memory().unwrap());
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..32 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let project = ProjectId::from(format!("p{n}"));
            store.create_project(&project).await.unwrap();
            assert!(store.projects().await.unwrap().contains(&project));
        });
    }
    tasks.join_all().await;
    Store::close(&*store).await.unwrap();
    let closed = store.projects().await.unwrap_err();
    assert!(matches!(closed, Error::Unavailable { .. }));
}
