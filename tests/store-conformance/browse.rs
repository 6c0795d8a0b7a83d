//! Lists for people.

use super::*;
use reflect_engine::store::{TraceFilter, TraceSearch};

on_every_store! {
    traces_are_found_by_words_kind_and_model,
    traces_wait_for_people_with_what_is_known_about_their_memories,
}

async fn traces_are_found_by_words_kind_and_model(store: &dyn Store) {
    let project = ProjectId::from("browse");
    let add = async |id: &str, task: &str, model: &str| {
        let trace = NewTrace {
            task: task.to_owned(),
            model: Some(model.to_owned()),
            ..new_trace(id)
        };
        store
            .insert_trace(&project, trace, Intake::Unreviewed)
            .await
            .unwrap();
    };
    add("browse-a", "Refund order 7", "gpt").await;
    add("browse-b", "Refunds for Zoë", "claude").await;
    add("browse-c", "Change a flight", "gpt").await;
    judge(store, &project, "browse-a", Verdict::Fail).await;
    judge(store, &project, "browse-b", Verdict::Pass).await;
    let find = async |text: &str, filter: Option<TraceFilter>, model: Option<&str>| {
        let search = TraceSearch {
            text: text.to_owned(),
            filter,
            model: model.map(str::to_owned),
            ..TraceSearch::default()
        };
        let page = store.browse_traces(&project, &search).await.unwrap();
        let ids = page.items.iter().map(|trace| trace.id.as_str().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(
        find("", None, None).await,
        ["browse-c", "browse-b", "browse-a"]
    );
    assert_eq!(find("refund", None, None).await, ["browse-b", "browse-a"]);
    assert_eq!(find("zoe REF", None, None).await, ["browse-b"]);
    assert_eq!(find("\" AND *", None, None).await, [""; 0]);
    assert_eq!(
        find("", Some(TraceFilter::Waiting), None).await,
        ["browse-c"]
    );
    assert_eq!(
        find("", Some(TraceFilter::Passed), None).await,
        ["browse-b"]
    );
    assert_eq!(
        find("", Some(TraceFilter::Failed), Some("gpt")).await,
        ["browse-a"]
    );
    assert_eq!(
        find("order", Some(TraceFilter::Passed), None).await,
        [""; 0]
    );
    assert_eq!(find("", Some(TraceFilter::Judged), None).await, [""; 0]);
    assert_eq!(
        store.trace_models(&project).await.unwrap(),
        ["claude", "gpt"]
    );
    assert_eq!(store.count_waiting(&project).await.unwrap(), 1);

    let first = TraceSearch {
        limit: 2,
        ..TraceSearch::default()
    };
    let page = store.browse_traces(&project, &first).await.unwrap();
    let last = page.cursor().unwrap().id.clone();
    let rest = TraceSearch {
        before: Some(last),
        ..first
    };
    let page = store.browse_traces(&project, &rest).await.unwrap();
    assert_eq!((page.items.len(), page.more), (1, false));
    assert_eq!(page.items[0].verdict, Some(Verdict::Fail));
    assert_eq!(page.items[0].reviewer, Some(Reviewer::Human));

    delete_traces(store, &project, &["browse-a"], false, None)
        .await
        .unwrap();
    assert_eq!(find("refund", None, None).await, ["browse-b"]);
    // Words of a deleted project are forgotten with it, and other projects have their own.
    let other = ProjectId::from("browse-other");
    let search = TraceSearch {
        text: "refunds".to_owned(),
        ..TraceSearch::default()
    };
    store.create_project(&other).await.unwrap();
    assert!(
        store
            .browse_traces(&other, &search)
            .await
            .unwrap()
            .is_empty()
    );
    store.delete_project(&project).await.unwrap();
    store.create_project(&project).await.unwrap();
    assert!(find("refunds", None, None).await.is_empty());
}

async fn traces_wait_for_people_with_what_is_known_about_their_memories(store: &dyn Store) {
    let project = ProjectId::from("waiting");
    insert(store, &project, new_trace("wait-1"), Intake::Unreviewed).await;
    judge(store, &project, "wait-1", Verdict::Pass).await;
    insert(
        store,
        &project,
        using("wait-2", &["m-wait-1", "gone"]),
        Intake::Unreviewed,
    )
    .await;
    insert(
        store,
        &project,
        using("wait-3", &["m-wait-1"]),
        Intake::Unreviewed,
    )
    .await;
    let mut by_model = lesson("wait-3", Verdict::Fail);
    by_model.review.reviewer = Reviewer::model("gpt");
    let learned = learn(store, &project, "wait-3", Basis::Fresh, by_model).await;
    assert_eq!(learned, Ok(()));
    let waiting = store.waiting_traces(&project, 10).await.unwrap();
    let ids: Vec<_> = waiting
        .iter()
        .map(|waiting| waiting.trace.id.as_str())
        .collect();
    assert_eq!(ids, ["wait-2", "wait-3"]);
    let [memory] = waiting[0].memories.as_slice() else {
        panic!("{waiting:?}");
    };
    assert_eq!((memory.id.as_str(), memory.uses), ("m-wait-1", 1));
    assert_eq!(waiting[0].suggestion, None);
    let suggestion = waiting[1].suggestion.as_ref().unwrap();
    assert_eq!(
        (suggestion.model.as_str(), suggestion.result),
        ("gpt", Verdict::Fail)
    );
    assert_eq!(store.waiting_traces(&project, 0).await.unwrap(), []);
    let ids = ["gone".into(), "m-wait-3".into(), "m-wait-1".into()];
    let found = store.find_memories(&project, &ids).await.unwrap();
    let ids: Vec<_> = found.iter().map(|(_, memory)| memory.id.as_str()).collect();
    assert_eq!(ids, ["m-wait-3", "m-wait-1"]);
}
