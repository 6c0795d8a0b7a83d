use std::sync::Arc;

use reflect_types::{Message, Metadata, ReviewMode, Reviewer, Verdict};
use rusqlite::Connection;

use super::fault::Fault;
use super::*;
use crate::error::Error;
use crate::review::NewReview;
use crate::store::Vectors as _;

mod groups;

type AnyWrite<T> = Box<dyn Fn(&Connection) -> Result<T, Fault> + Send>;

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

fn add_project(name: String) -> impl Fn(&Connection) -> Result<(), Fault> {
    move |db| {
        db.execute("INSERT OR IGNORE INTO project (id) VALUES (?1)", [&name])?;
        Ok(())
    }
}

/// Blocks the writing thread until the returned sender is dropped.
async fn hold(store: &Arc<Sqlite>) -> std::sync::mpsc::Sender<()> {
    let (release, held) = std::sync::mpsc::channel();
    let (begun, mut waiting) = tokio::sync::mpsc::unbounded_channel();
    let writer = Arc::clone(store);
    tokio::spawn(async move {
        let work = move |_: &Connection| {
            let _ = begun.send(());
            let _ = held.recv();
            Ok(())
        };
        writer.write(work).await
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
async fn together<T: Send + 'static>(
    store: &Arc<Sqlite>,
    writes: Vec<AnyWrite<T>>,
) -> Vec<Result<T>> {
    let release = hold(store).await;
    let waiting: Vec<_> = writes
        .into_iter()
        .map(|work| {
            let store = Arc::clone(store);
            // The current-thread runtime polls the tasks in order, and the first poll sends.
            tokio::spawn(async move { store.write(work).await })
        })
        .collect();
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
    let pragmas = store.write(|db| {
        let read = |name| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        Ok((read("synchronous")?, read("foreign_keys")?))
    });
    assert_eq!(pragmas.await.unwrap(), (2, 1));
}

#[tokio::test]
async fn a_full_database_is_reported_and_recovers() {
    let (_folder, store) = store();
    let limit = |pages: i64| {
        let store = Arc::clone(&store);
        async move {
            let set = move |db: &Connection| {
                db.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
                Ok(())
            };
            store.write(set).await.unwrap();
        }
    };
    store.write(add_project("first".to_owned())).await.unwrap();
    limit(1).await;
    let big = |name: &str| add_project(format!("{name}{}", "x".repeat(100_000)));
    let writes: Vec<AnyWrite<()>> = vec![
        Box::new(add_project("small".to_owned())),
        Box::new(big("large")),
    ];
    let answers = together(&store, writes).await;
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
    limit(1_000_000).await;
    store.write(big("large")).await.unwrap();
}

#[tokio::test]
async fn a_closed_store_is_unavailable() {
    let (_folder, store) = store();
    store.close().await.unwrap();
    store.close().await.unwrap();
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
    let damage = |db: &Connection| {
        db.execute("UPDATE trace SET metadata = '{' WHERE id = 't-0'", [])?;
        Ok(())
    };
    store.write(damage).await.unwrap();
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
    let status = |db: &Connection| {
        let select = "SELECT ingest_status FROM trace WHERE id = 't-0'";
        Ok(db.query_row(select, [], |row| row.get::<_, String>(0))?)
    };
    assert_eq!(store.read(status).await.unwrap(), "failed");
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
    store.close().await.unwrap();
    let closed = store.projects().await.unwrap_err();
    assert!(matches!(closed, Error::Unavailable { .. }));
}

#[tokio::test]
async fn an_existing_project_with_an_odd_id_stays_usable() {
    let (_folder, store) = store();
    let odd = ProjectId::from(" odd\u{1b}\u{200b}");
    let name = odd.to_string();
    let older = move |db: &Connection| -> Result<(), Fault> {
        db.execute("INSERT INTO project (id) VALUES (?1)", [&name])?;
        Ok(())
    };
    store.write(older).await.unwrap();
    store.create_project(&odd).await.unwrap();
    assert!(store.projects().await.unwrap().contains(&odd));
    assert_eq!(store.stats(&odd).await.unwrap().traces, 0);
    assert!(store.delete_project(&odd).await.unwrap());
    assert!(store.create_project(&odd).await.is_err());
}
