//! Lists for people.

use super::*;
use reflect_engine::store::{TraceFilter, TraceSearch};

on_every_store! {
    traces_are_found_by_words_kind_and_model,
    traces_are_found_by_session,
    a_tree_has_the_runs_above_a_trace_and_those_within_it,
    a_tree_is_bounded,
    traces_wait_for_people_with_what_is_known_about_their_memories,
}

/// A run with this id, within another one.
fn within(id: &str, parent: &str) -> NewTrace {
    NewTrace {
        idempotency_key: Some(id.to_owned()),
        parent_run_id: Some(parent.to_owned()),
        ..new_trace(id)
    }
}

async fn tree(store: &dyn Store, project: &ProjectId, id: &str) -> TraceTree {
    store
        .trace_tree(project, &id.into())
        .await
        .unwrap()
        .unwrap()
}

fn drawn(tree: &TraceTree) -> Vec<(u32, &str)> {
    let runs = tree.runs.iter();
    runs.map(|run| (run.depth, run.trace.id.as_str())).collect()
}

async fn traces_are_found_by_session(store: &dyn Store) {
    let project = ProjectId::from("sessions");
    for (id, session) in [("s-a", "one"), ("s-b", "two"), ("s-c", "one")] {
        let trace = NewTrace {
            session_id: Some(session.to_owned()),
            ..new_trace(id)
        };
        insert(store, &project, trace, Intake::Unreviewed).await;
    }
    let session = Some("one".to_owned());
    let search = TraceSearch {
        session: session.clone(),
        ..TraceSearch::default()
    };
    let found = store.browse_traces(&project, &search).await.unwrap();
    let found: Vec<_> = found.items.iter().map(|trace| trace.id.as_str()).collect();
    assert_eq!(found, ["s-c", "s-a"]);
    let list = ListTraces {
        session_id: session,
        order: Some(ListOrder::Oldest),
        ..ListTraces::default()
    };
    let listed = store.list_traces(&project, &list).await.unwrap();
    let listed: Vec<_> = listed.items.iter().map(|trace| trace.id.as_str()).collect();
    assert_eq!(listed, ["s-a", "s-c"]);
}

async fn a_tree_has_the_runs_above_a_trace_and_those_within_it(store: &dyn Store) {
    let project = ProjectId::from("tree");
    // Children may arrive before their parents.
    for (id, parent) in [
        ("t-read", "t-search"),
        ("t-search", "t-plan"),
        ("t-write", "t-plan"),
        ("t-plan", "t-absent"),
        ("t-other", "t-other"),
    ] {
        insert(store, &project, within(id, parent), Intake::Unreviewed).await;
    }
    judge(store, &project, "t-read", Verdict::Fail).await;
    let plan = tree(store, &project, "t-plan").await;
    let expected = [
        (0, "t-plan"),
        (1, "t-search"),
        (2, "t-read"),
        (1, "t-write"),
    ];
    assert_eq!(drawn(&plan), expected);
    assert_eq!(plan.missing_run_id.as_deref(), Some("t-absent"));
    assert_eq!(plan.runs[2].trace.verdict, Some(Verdict::Fail));
    let search = tree(store, &project, "t-search").await;
    assert_eq!(
        drawn(&search),
        [(0, "t-plan"), (1, "t-search"), (2, "t-read")]
    );
    // One that names itself is shown once.
    let own = tree(store, &project, "t-other").await;
    assert_eq!((drawn(&own), own.more), (vec![(0, "t-other")], false));
    let elsewhere = ProjectId::from("tree elsewhere");
    insert(
        store,
        &elsewhere,
        within("t-alone", "t-plan"),
        Intake::Unreviewed,
    )
    .await;
    assert_eq!(
        drawn(&tree(store, &elsewhere, "t-alone").await),
        [(0, "t-alone")]
    );
    let absent = "t-absent".into();
    assert_eq!(store.trace_tree(&project, &absent).await.unwrap(), None);
}

async fn a_tree_is_bounded(store: &dyn Store) {
    let project = ProjectId::from("large tree");
    for n in 1..=TraceTree::MAX_WITHIN + 1 {
        let id = format!("l-{n}");
        // A chain, and the rest side by side.
        let parent = match n {
            ..=150 => format!("l-{}", n - 1),
            _ => "l-1".to_owned(),
        };
        insert(store, &project, within(&id, &parent), Intake::Unreviewed).await;
    }
    let most = u32::try_from(TraceTree::MAX_ABOVE).unwrap();
    let deep = tree(store, &project, "l-150").await;
    assert_eq!(
        (deep.runs.len(), deep.more),
        (TraceTree::MAX_ABOVE + 1, true)
    );
    assert_eq!(deep.runs.last().unwrap().depth, most);
    let all = tree(store, &project, "l-1").await;
    assert_eq!(
        (all.runs.len(), all.more),
        (TraceTree::MAX_WITHIN + 1, false)
    );
    insert(store, &project, within("l-last", "l-1"), Intake::Unreviewed).await;
    let cut = tree(store, &project, "l-1").await;
    assert_eq!(
        (cut.runs.len(), cut.more),
        (TraceTree::MAX_WITHIN + 1, true)
    );
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
