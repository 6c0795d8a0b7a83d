//! Memories as an index follows them.

use super::*;

on_every_store! {
    changes_cover_what_an_index_holds,
    changes_come_in_pages_that_miss_nothing,
    a_recreated_project_resets_its_readers,
}

async fn changes_cover_what_an_index_holds(store: &dyn Store) {
    let project = ProjectId::from("changes");
    let since = async |since| {
        store
            .memory_changes(&project, &space(), since, 100)
            .await
            .unwrap()
    };
    let nothing = since(Revision::default()).await;
    assert_eq!(nothing, MemoryChanges::default());
    let mut trace = new_trace("t-changes-0");
    trace.metadata = metadata(&json!({"team": "support"}));
    insert(store, &project, trace, Intake::Unreviewed).await;
    judge(store, &project, "t-changes-0", Verdict::Pass).await;
    let first = since(Revision::default()).await;
    assert!(first.reset && !first.more);
    let [MemoryChange::Put(memory)] = first.changes.as_slice() else {
        panic!("one memory, not {:?}", first.changes)
    };
    let key = memory.key;
    assert_eq!(memory.id, "m-t-changes-0");
    assert_eq!(memory.vector, vector_of("t-changes-0"));
    assert_eq!(memory.q, learn::INITIAL);
    assert_eq!(memory.metadata, metadata(&json!({"team": "support"})));
    assert!(memory.passed && memory.given.is_empty());
    assert_eq!(memory.alpha, 0.3);
    let found = store.memories(&project, &[key, -1]).await.unwrap();
    assert_eq!((found.len(), found[0].0), (1, key));
    assert_eq!(found[0].1.id, "m-t-changes-0");
    let vectors = store.vectors(&project, &space(), &[key, -1]).await.unwrap();
    assert_eq!(vectors, [(key, vector_of("t-changes-0"))]);
    let other = ProjectId::from("no such project");
    assert_eq!(store.memories(&other, &[key]).await.unwrap(), []);
    assert_eq!(store.vectors(&other, &space(), &[key]).await.unwrap(), []);

    let quiet = since(first.revision).await;
    assert_eq!((quiet.reset, quiet.changes.len()), (false, 0));
    assert_eq!(quiet.revision, first.revision);

    insert(
        store,
        &project,
        using("t-changes-1", &["m-t-changes-0"]),
        Intake::Unreviewed,
    )
    .await;
    assert_eq!(
        since(first.revision).await.changes,
        [],
        "a run without a review changes nothing"
    );
    judge(store, &project, "t-changes-1", Verdict::Pass).await;
    let moved = since(first.revision).await;
    let moved_q = moved.changes.iter().find_map(|change| match change {
        MemoryChange::Put(memory) if memory.key == key => {
            Some((memory.q, !memory.metadata.is_empty()))
        }
        _ => None,
    });
    assert_eq!(moved_q, Some((0.65, true)));
    let given = moved.changes.iter().find_map(|change| match change {
        MemoryChange::Put(memory) if memory.key != key => Some(memory.given.clone()),
        _ => None,
    });
    assert_eq!(given, Some(vec![MemoryId::new("m-t-changes-0")]));
    assert_eq!(moved.changes.len(), 2);

    assert_eq!(withdraw(store, &project, "t-changes-0").await, Ok(()));
    let removed = since(moved.revision).await;
    assert_eq!(removed.changes, [MemoryChange::Gone(key)]);
    // A new reader sees the stored memories only.
    let fresh = since(Revision::default()).await;
    let there = fresh
        .changes
        .iter()
        .filter(|change| matches!(change, MemoryChange::Put(_)));
    assert_eq!(there.count(), 1);
}

async fn changes_come_in_pages_that_miss_nothing(store: &dyn Store) {
    let project = ProjectId::from("pages");
    for n in 0..7 {
        let id = format!("t-pages-{n}");
        insert(store, &project, new_trace(&id), Intake::Unreviewed).await;
        judge(store, &project, &id, Verdict::Pass).await;
    }
    for n in [1, 4] {
        let id = format!("t-pages-{n}");
        assert_eq!(withdraw(store, &project, &id).await, Ok(()));
    }
    for page in 1..=10 {
        let (mut since, mut known, mut rounds) =
            (Revision::default(), std::collections::BTreeSet::new(), 0);
        loop {
            let changes = store
                .memory_changes(&project, &space(), since, page)
                .await
                .unwrap();
            assert!(changes.changes.len() <= page);
            assert_eq!(changes.reset, rounds == 0);
            for change in &changes.changes {
                match change {
                    MemoryChange::Put(memory) => known.insert(memory.key),
                    MemoryChange::Gone(key) => known.remove(key),
                };
            }
            since = changes.revision;
            rounds += 1;
            assert!(rounds < 100, "pages never end");
            if !changes.more {
                break;
            }
        }
        assert_eq!(known.len(), 5, "pages of {page}");
        let keys: Vec<_> = known.into_iter().collect();
        assert_eq!(
            store
                .vectors(&project, &space(), &keys)
                .await
                .unwrap()
                .len(),
            5
        );
    }
}

async fn a_recreated_project_resets_its_readers(store: &dyn Store) {
    let project = ProjectId::from("again");
    insert(store, &project, new_trace("t-again-0"), Intake::Unreviewed).await;
    judge(store, &project, "t-again-0", Verdict::Pass).await;
    let since = async |since| {
        store
            .memory_changes(&project, &space(), since, 100)
            .await
            .unwrap()
    };
    let first = since(Revision::default()).await.revision;
    store.delete_project(&project).await.unwrap();
    let gone = since(first).await;
    assert!(gone.reset && gone.changes.is_empty());
    assert_eq!(gone.revision, Revision::default());
    insert(store, &project, new_trace("t-again-1"), Intake::Unreviewed).await;
    judge(store, &project, "t-again-1", Verdict::Pass).await;
    let again = since(first).await;
    assert!(again.reset);
    assert_eq!(again.changes.len(), 1);
    assert_ne!(again.revision.epoch, first.epoch);
}
