//! Writes that share a transaction.

use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::StatementStatus;

use super::*;

#[tokio::test]
async fn a_write_that_fails_or_panics_undoes_no_other() {
    let (_folder, store) = store();
    let writes: Vec<AnyWrite<()>> = vec![
        Box::new(add_project("before".to_owned())),
        Box::new(|db| {
            add_project("failed".to_owned())(db)?;
            db.execute("INSERT INTO nowhere VALUES (1)", []).map(drop)?;
            Ok(())
        }),
        Box::new(|db| {
            add_project("panicked".to_owned())(db)?;
            panic!("in the middle of it")
        }),
        Box::new(add_project("after".to_owned())),
    ];
    let answers = together(&store, writes).await;
    let went: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(went, [true, false, false, true]);
    let names: Vec<String> = store
        .projects()
        .await
        .unwrap()
        .into_iter()
        .map(String::from)
        .collect();
    assert_eq!(names, ["after", "before"]);
}

#[tokio::test]
async fn queued_writes_share_a_commit() {
    let (_folder, store) = store();
    let version = |db: &Connection| -> Result<i64, Fault> {
        // Changes with every commit of another connection.
        Ok(db.pragma_query_value(None, "data_version", |row| row.get(0))?)
    };
    let watching = Connection::open(store.path()).unwrap();
    let release = hold(&store).await;
    let before = version(&watching).unwrap();
    let waiting: Vec<_> = (0..50)
        .map(|n| {
            let store = Arc::clone(&store);
            tokio::spawn(async move { store.write(add_project(format!("p{n}"))).await })
        })
        .collect();
    tokio::task::yield_now().await;
    assert_eq!(
        version(&watching).unwrap(),
        before,
        "nothing is committed yet"
    );
    drop(release);
    let mut seen = std::collections::BTreeSet::new();
    for write in waiting {
        write.await.unwrap().unwrap();
        seen.insert(version(&watching).unwrap());
    }
    assert_eq!(store.projects().await.unwrap().len(), 50);
    // One commit for the blocking write, one for the rest.
    assert!(seen.len() <= 2, "{seen:?}");
}

#[tokio::test]
async fn a_write_that_is_refused_runs_no_other_again() {
    let (_folder, store) = store();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = |name: &str| -> AnyWrite<()> {
        let (runs, add) = (Arc::clone(&runs), add_project(name.to_owned()));
        Box::new(move |db| {
            runs.fetch_add(1, Ordering::Relaxed);
            add(db)
        })
    };
    let refused: AnyWrite<()> = Box::new(|_| Err(Error::unavailable("not now").into()));
    let answers = together(&store, vec![counted("a"), refused, counted("b")]).await;
    let went: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(went, [true, false, true]);
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert_eq!(store.projects().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_write_that_fails_alone_runs_once_and_leaves_nothing() {
    let (_folder, store) = store();
    let runs = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&runs);
    let failing = move |db: &Connection| -> Result<(), Fault> {
        counting.fetch_add(1, Ordering::Relaxed);
        add_project("failed".to_owned())(db)?;
        db.execute("INSERT INTO nowhere VALUES (1)", []).map(drop)?;
        Ok(())
    };
    assert!(store.write(failing).await.is_err());
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    assert!(store.projects().await.unwrap().is_empty());
    store.create_project(&"next".into()).await.unwrap();
}

#[tokio::test]
async fn a_statement_stays_prepared_for_other_parameters() {
    let (_folder, store) = store();
    let prepared_again = |db: &Connection| {
        let mut select = db.prepare("SELECT key FROM queue WHERE due_at <= ?1 LIMIT ?2")?;
        for n in 0..3 {
            select.exists([n, n])?;
        }
        Ok(select.get_status(StatementStatus::RePrepare))
    };
    assert_eq!(store.write(prepared_again).await.unwrap(), 0);
    assert_eq!(store.read(prepared_again).await.unwrap(), 0);
}
