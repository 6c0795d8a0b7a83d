//! Texts of any length and with any character.

use super::*;

on_every_store! {
    texts_with_nul_are_kept,
    json_nested_too_deeply_to_be_read_is_refused,
    a_page_of_long_traces_ends_early,
}

async fn texts_with_nul_are_kept(store: &dyn Store) {
    let project = ProjectId::from("p");
    let written = NewTrace {
        task: "a\0b".to_owned(),
        final_response: "\0".to_owned(),
        retrieved_memory_ids: vec!["m\0".into()],
        metadata: metadata(&json!({"k\0": "v\0"})),
        idempotency_key: Some("i\0".to_owned()),
        ..new_trace("t")
    };
    for _ in 0..2 {
        insert(store, &project, written.clone(), Intake::Unreviewed).await;
    }
    let found = trace(store, &project, "t").await;
    assert_eq!(
        (found.task, found.final_response),
        (written.task, written.final_response)
    );
    assert_eq!(found.metadata, written.metadata);
    assert_eq!(found.retrieved_memory_ids, written.retrieved_memory_ids);
}

async fn json_nested_too_deeply_to_be_read_is_refused(store: &dyn Store) {
    let project = ProjectId::from("p");
    let nested = |levels: usize| {
        let mut value = json!(["[{\"\\"]);
        for _ in 1..levels {
            value = json!([value]);
        }
        NewTrace {
            metadata: metadata(&json!({"tree": value})),
            ..new_trace(&format!("t-{levels}"))
        }
    };
    insert(store, &project, nested(110), Intake::Unreviewed).await;
    trace(store, &project, "t-110").await;
    let refused = store.insert_trace(&project, nested(130), Intake::Unreviewed);
    let refused = refused.await.unwrap_err();
    assert!(
        matches!(&refused, Error::Invalid(field) if field.field == "metadata"),
        "{refused}"
    );
}

async fn a_page_of_long_traces_ends_early(store: &dyn Store) {
    let project = ProjectId::from("p");
    // Half of the bytes after which a page ends.
    let long = "x".repeat(2 * 1024 * 1024);
    for id in ["t-0", "t-1", "t-2", "t-3"] {
        let trace = NewTrace {
            trajectory: vec![Message::assistant(long.as_str())],
            ..new_trace(id)
        };
        insert(store, &project, trace, Intake::Unreviewed).await;
    }
    let mut list = ListTraces::default();
    let mut seen = Vec::new();
    loop {
        let page = store.list_traces(&project, &list).await.unwrap();
        assert!(page.items.len() <= 2);
        list.before = page.cursor().map(|trace| trace.id.clone());
        seen.extend(page.into_iter().map(|trace| trace.id));
        if list.before.is_none() {
            break;
        }
    }
    assert_eq!(seen, ["t-3", "t-2", "t-1", "t-0"]);
    let archived = store.archived_traces(&project, None, 9).await.unwrap();
    assert_eq!(archived.len(), 2);
}
