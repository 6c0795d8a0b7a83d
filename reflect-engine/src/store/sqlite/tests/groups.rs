//! Writes that share a transaction.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const FAILS: &str = "INSERT INTO nowhere VALUES (1)";

/// What a write does after it has added a project.
#[derive(Clone, Copy)]
enum Ends {
    Well,
    Failing,
    Panicking,
}

/// Adds a project, counts that it does, and ends in this way.
async fn counted(
    store: Arc<Sqlite>,
    name: &'static str,
    ends: Ends,
    runs: Arc<AtomicUsize>,
) -> Result<()> {
    let arguments = (name, ends, runs);
    let write = store.write(arguments, |db, (name, ends, runs)| {
        Box::pin(async move {
            runs.fetch_add(1, Ordering::Relaxed);
            add_project(db, name).await?;
            match ends {
                Ends::Well => Ok(()),
                Ends::Failing => db.execute(FAILS, &[]).await.map(drop),
                Ends::Panicking => panic!("in the middle of it"),
            }
        })
    });
    write.await
}

#[tokio::test]
async fn a_write_that_fails_or_panics_undoes_no_other() {
    let (_folder, store) = store();
    let writes = [
        ("before", Ends::Well),
        ("failed", Ends::Failing),
        ("panicked", Ends::Panicking),
        ("after", Ends::Well),
    ];
    let writes = writes.map(|(name, ends)| counted(Arc::clone(&store), name, ends, Arc::default()));
    let answers = together(&store, writes.into()).await;
    let went: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(went, [true, false, false, true]);
    let names = store.projects().await.unwrap();
    assert_eq!(names, [ProjectId::from("after"), ProjectId::from("before")]);
}

#[tokio::test]
async fn queued_writes_share_a_commit() {
    let (_folder, store) = store();
    let watching = Connection::open(store.path()).unwrap();
    // Changes with every commit of another connection.
    let version = || -> i64 {
        let read = watching.pragma_query_value(None, "data_version", |row| row.get(0));
        read.unwrap()
    };
    let release = hold(&store).await;
    let before = version();
    let waiting: Vec<_> = (0..50)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { add(&store, format!("p{n}")).await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_eq!(version(), before, "nothing is committed yet");
    drop(release);
    let mut seen = std::collections::BTreeSet::new();
    for write in waiting {
        write.await.unwrap().unwrap();
        seen.insert(version());
    }
    assert_eq!(store.projects().await.unwrap().len(), 50);
    // One commit for the blocking write, one for the rest.
    assert!(seen.len() <= 2, "{seen:?}");
}

#[tokio::test]
async fn a_write_that_is_refused_runs_no_other_again() {
    let (_folder, store) = store();
    let runs = Arc::new(AtomicUsize::new(0));
    let write = |refused: bool, name: &'static str| {
        let (store, runs) = (Arc::clone(&store), Arc::clone(&runs));
        async move {
            if !refused {
                return counted(store, name, Ends::Well, runs).await;
            }
            let refuse = store.write((), |_, ()| {
                Box::pin(async { Err(Error::unavailable("not now").into()) })
            });
            refuse.await
        }
    };
    let writes = vec![write(false, "a"), write(true, ""), write(false, "b")];
    let answers = together(&store, writes).await;
    let went: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(went, [true, false, true]);
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert_eq!(store.projects().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_write_that_fails_alone_runs_once_and_leaves_nothing() {
    let (_folder, store) = store();
    let runs = Arc::new(AtomicUsize::new(0));
    let failed = counted(
        Arc::clone(&store),
        "failed",
        Ends::Failing,
        Arc::clone(&runs),
    );
    assert!(failed.await.is_err());
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert!(store.projects().await.unwrap().is_empty());
    store.create_project(&"next".into()).await.unwrap();
}
