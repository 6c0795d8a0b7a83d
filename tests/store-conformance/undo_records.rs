//! The records that undos leave.

use super::undo::{by_key, teach};
use super::*;

on_every_store! {
    an_undo_leaves_a_record_of_who_asked_for_what,
    records_are_listed_in_pages_and_imported_once,
}

/// Undoes what a key has taught, with the key `owner`.
async fn undo(store: &dyn Store, project: &ProjectId, key: &str) -> UndoReport {
    let run = UndoRun::Real {
        expect: None,
        record: Some(Box::new(NewUndoRecord {
            id: format!("undo-{key}"),
            key_id: Some("owner".into()),
            request: Undo {
                key_id: Some(key.into()),
                ..Undo::default()
            },
        })),
    };
    let done = store.undo(project, &by_key(key), run, now()).await;
    done.unwrap()
}

async fn records(store: &dyn Store, project: &ProjectId) -> Vec<UndoRecord> {
    let all = ListUndos::default();
    store.list_undos(project, &all).await.unwrap().items
}

async fn an_undo_leaves_a_record_of_who_asked_for_what(store: &dyn Store) {
    let project = ProjectId::from("undo record");
    teach(store, &project, new_trace("kept"), "owner", Verdict::Pass).await;
    for n in 0..2 {
        let attack = using(&format!("attack-{n}"), &["m-kept"]);
        teach(store, &project, attack, "thief", Verdict::Fail).await;
    }
    let thief = by_key("thief");
    let dry = store.undo(&project, &thief, UndoRun::Dry, now()).await;
    dry.unwrap();
    assert_eq!(records(store, &project).await, []);
    let report = undo(store, &project, "thief").await;
    let left = records(store, &project).await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].key_id, Some("owner".into()));
    assert_eq!(left[0].created_at.parse().ok(), Some(now()));
    assert_eq!(left[0].request.key_id, Some("thief".into()));
    assert_eq!(left[0].totals, report.full_totals());
    let expected = UndoTotals {
        traces: 2,
        removed: 2,
        moved: 1,
        ..UndoTotals::default()
    };
    assert_eq!((left[0].totals, left[0].events), (expected, 2));
    // An undo that changes nothing leaves none.
    undo(store, &project, "thief").await;
    assert_eq!(records(store, &project).await, left);
    let elsewhere = ProjectId::from("no undo");
    assert_eq!(records(store, &elsewhere).await, []);
}

async fn records_are_listed_in_pages_and_imported_once(store: &dyn Store) {
    let project = ProjectId::from("undo pages");
    for key in ["a", "b", "c"] {
        teach(store, &project, new_trace(key), key, Verdict::Pass).await;
        undo(store, &project, key).await;
    }
    let page = async |before: Option<String>| {
        let list = ListUndos {
            limit: Some(2),
            before,
        };
        store.list_undos(&project, &list).await
    };
    let first = page(None).await.unwrap();
    let keys = |records: &[UndoRecord]| {
        let keys = records
            .iter()
            .filter_map(|record| record.request.key_id.clone());
        keys.map(String::from).collect::<String>()
    };
    assert_eq!((keys(&first.items), first.more), ("cb".to_owned(), true));
    let rest = page(Some(first.items[1].id.clone())).await.unwrap();
    assert_eq!((keys(&rest.items), rest.more), ("a".to_owned(), false));
    let refused = page(Some("none".to_owned())).await;
    assert!(matches!(refused, Err(Error::Invalid(invalid)) if invalid.field == "before"));

    let copy = ProjectId::from("imported undos");
    let all = records(store, &project).await;
    // Oldest first, as an export has them.
    let pieces = all.iter().rev().cloned().map(Box::new);
    let pieces: Vec<_> = pieces.map(EmbeddedPiece::Undo).collect();
    for stored in [3, 0] {
        let done = store.restore(&copy, true, pieces.clone(), now()).await;
        assert_eq!(done.unwrap(), stored);
    }
    assert_eq!(records(store, &copy).await, all);
}
