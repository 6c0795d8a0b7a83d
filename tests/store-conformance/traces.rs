//! Traces.

use super::*;

on_every_store! {
    a_trace_is_read_as_it_was_written,
    an_idempotency_key_stores_once,
    traces_are_found_by_key_and_by_metadata,
    traces_are_listed_newest_first_in_pages,
    traces_are_listed_oldest_first_in_pages,
    projects_are_isolated,
    deleted_traces_leave_their_memories_or_take_them,
    tokens_are_summed_by_model_and_arm,
}

async fn a_trace_is_read_as_it_was_written(store: &dyn Store) {
    let project = ProjectId::from("round trip ü");
    let mut trace = new_trace("t-round");
    trace.trajectory = vec![
        Message::user("What is the weather in Oslo?"),
        Message::tool_calls([ToolCall::new("call_1", "weather", json!({"city": "Oslo"}))]),
        Message::tool("call_1", "4 °C").with("odd", json!([1, null])),
    ];
    trace.metadata =
        metadata(&json!({"team": "support", "nested": {"a": [1, 36.323_157_585_588_476]}}));
    trace.retrieved_memory_ids = vec!["m-1".into(), "m-1".into()];
    trace.reference_context = Some("Be polite.".to_owned());
    trace.model = Some("some-model".to_owned());
    trace.arm = Some(Arm::Memories);
    trace.idempotency_key = Some("run-2".to_owned());
    trace.parent_run_id = Some("run-1".to_owned());
    trace.session_id = Some("ticket 7".to_owned());
    trace.usage = Some(Usage::new(Usage::MAX, 0));
    let receipt = insert(store, &project, trace.clone(), Intake::Unreviewed).await;
    assert_eq!(receipt, IngestStatus::Completed);

    let stored = store.trace(&project, &trace.id).await.unwrap().unwrap();
    let undecoded = store.trace_json(&project, &trace.id).await.unwrap();
    let json = serde_json::to_value(undecoded.unwrap()).unwrap();
    assert_eq!(json, serde_json::to_value(&stored).unwrap());
    assert_eq!(stored.task, trace.task);
    assert_eq!(stored.trajectory, trace.trajectory);
    assert_eq!(stored.final_response, trace.final_response);
    assert_eq!(stored.retrieved_memory_ids, trace.retrieved_memory_ids);
    assert_eq!(stored.metadata, trace.metadata);
    assert_eq!(stored.reference_context, trace.reference_context);
    assert_eq!(stored.model, trace.model);
    assert_eq!(stored.arm, trace.arm);
    assert_eq!(stored.run_id, trace.idempotency_key);
    assert_eq!(stored.parent_run_id, trace.parent_run_id);
    assert_eq!(stored.session_id, trace.session_id);
    assert_eq!(stored.usage, trace.usage);
    assert_eq!(stored.review_status, ReviewStatus::Pending);
    assert_eq!(stored.ingest_status, IngestStatus::Completed);
    assert_eq!(
        stored.created_at.as_deref(),
        Some("1970-01-01T00:00:00.000Z")
    );
    assert_eq!((stored.review, stored.created_memory_id), (None, None));
    assert_eq!(store.trace(&project, &"absent".into()).await.unwrap(), None);
}

async fn an_idempotency_key_stores_once(store: &dyn Store) {
    let project = ProjectId::from("idempotency");
    let named = |id: &str| NewTrace {
        idempotency_key: Some("the-key".to_owned()),
        ..new_trace(id)
    };
    let queued = Intake::Queued(review("r-key", Verdict::Pass));
    let first = store
        .insert_trace(&project, named("t-key-1"), queued)
        .await
        .unwrap();
    assert_eq!(first.ingest_status, IngestStatus::Queued);
    let again = store.insert_trace(&project, named("t-key-2"), Intake::Unreviewed);
    assert_eq!(again.await.unwrap(), first);
    let other = ProjectId::from("idempotency elsewhere");
    let elsewhere = store.insert_trace(&other, named("t-key-3"), Intake::Unreviewed);
    assert_eq!(elsewhere.await.unwrap().trace_id, "t-key-3");

    // The first receipt stays, even after the job has finished.
    drain(store).await;
    let done = store
        .trace(&project, &first.trace_id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(done.ingest_status, IngestStatus::Completed);
    let late = store.insert_trace(&project, named("t-key-4"), Intake::Unreviewed);
    assert_eq!(late.await.unwrap(), first);
    assert_eq!(store.stats(&project).await.unwrap().traces, 1);
}

async fn traces_are_found_by_key_and_by_metadata(store: &dyn Store) {
    let project = ProjectId::from("found");
    let about = |value: Value| metadata(&value);
    let labelled = |id: &str, value: Value| NewTrace {
        metadata: about(value),
        idempotency_key: Some(format!("key of {id}")),
        ..new_trace(id)
    };
    let traces = [
        labelled("t-1", json!({"ticket": "123", "team": ["eu", "us"]})),
        labelled(
            "t-2",
            json!({"ticket": "124", "team": "eu", "open": true, "n": 2}),
        ),
        labelled(
            "t-3",
            json!({"ticket": "123", "team": "eu", "other": {"a": null}}),
        ),
    ];
    for trace in traces {
        insert(store, &project, trace, Intake::Unreviewed).await;
    }
    let with_review = NewTrace {
        metadata: about(json!({"n": 2.0})),
        ..new_trace("t-4")
    };
    let queued = Intake::Queued(review("r-found", Verdict::Pass));
    insert(store, &project, with_review, queued).await;
    let found = async |project: &ProjectId, key: TraceKey, limit| {
        let found = store.find_traces(project, &key, limit).await.unwrap();
        let ids = found.iter().map(|trace| trace.id.to_string());
        (ids.collect::<Vec<_>>(), found)
    };
    let by = |value: Value| TraceKey::Labels(labels(&about(value)));
    for (value, ids) in [
        (json!({"ticket": "123"}), &["t-3", "t-1"][..]),
        (json!({"ticket": "123", "team": "us"}), &["t-1"]),
        (json!({"team": "eu", "ticket": "124"}), &["t-2"]),
        (json!({"team": "eu", "open": true, "n": 2}), &["t-2"]),
        (json!({"n": 2}), &["t-4", "t-2"]),
        (json!({"ticket": 123}), &[]),
        (json!({}), &[]),
    ] {
        assert_eq!(
            found(&project, by(value.clone()), 9).await.0,
            ids,
            "{value}"
        );
    }
    assert_eq!(
        found(&project, by(json!({"team": "eu"})), 2).await.0,
        ["t-3", "t-2"]
    );
    let (_, both) = found(&project, by(json!({"n": 2})), 9).await;
    assert_eq!(
        both.iter().map(|t| t.has_review).collect::<Vec<_>>(),
        [true, false]
    );
    assert_eq!(both[0].metadata, about(json!({"n": 2.0})));
    let named = |id: &str| TraceKey::Idempotency(format!("key of {id}"));
    assert_eq!(found(&project, named("t-2"), 9).await.0, ["t-2"]);
    assert!(found(&project, named("t-4"), 9).await.0.is_empty());

    // Neither another project nor a deleted trace is found.
    let other = ProjectId::from("found elsewhere");
    assert!(found(&other, named("t-2"), 9).await.0.is_empty());
    insert(store, &other, new_trace("t-5"), Intake::Unreviewed).await;
    assert!(
        found(&other, by(json!({"ticket": "123"})), 9)
            .await
            .0
            .is_empty()
    );
    delete_traces(store, &project, &["t-3"], false, None)
        .await
        .unwrap();
    assert_eq!(
        found(&project, by(json!({"ticket": "123"})), 9).await.0,
        ["t-1"]
    );
    drain(store).await;
}

async fn traces_are_listed_newest_first_in_pages(store: &dyn Store) {
    let project = ProjectId::from("listing");
    for n in 0..5 {
        let id = format!("t-list-{n}");
        insert(store, &project, new_trace(&id), Intake::Unreviewed).await;
    }
    judge(store, &project, "t-list-1", Verdict::Pass).await;
    judge(store, &project, "t-list-3", Verdict::Fail).await;
    let list = async |status: Option<ReviewStatus>, limit, before: Option<&str>| {
        let list = ListTraces {
            review_status: status,
            limit: Some(limit),
            before: before.map(TraceId::from),
            ..ListTraces::default()
        };
        let page = store.list_traces(&project, &list).await.unwrap();
        let next = page.cursor().map(|trace| trace.id.to_string());
        let ids: Vec<String> = page.into_iter().map(|t| t.id.into()).collect();
        (ids.join(" "), next)
    };
    let all = "t-list-4 t-list-3 t-list-2 t-list-1 t-list-0";
    assert_eq!(list(None, 9, None).await, (all.to_owned(), None));
    assert_eq!(list(None, 5, None).await, (all.to_owned(), None));
    let (first, next) = list(None, 2, None).await;
    assert_eq!(
        (first.as_str(), next.as_deref()),
        ("t-list-4 t-list-3", Some("t-list-3"))
    );
    let (second, next) = list(None, 2, next.as_deref()).await;
    assert_eq!(
        (second.as_str(), next.as_deref()),
        ("t-list-2 t-list-1", Some("t-list-1"))
    );
    assert_eq!(
        list(None, 2, next.as_deref()).await,
        ("t-list-0".to_owned(), None)
    );
    let (pending, _) = list(Some(ReviewStatus::Pending), 9, None).await;
    assert_eq!(pending, "t-list-4 t-list-2 t-list-0");
    let (reviewed, next) = list(Some(ReviewStatus::Reviewed), 1, None).await;
    assert_eq!(
        (reviewed.as_str(), next.as_deref()),
        ("t-list-3", Some("t-list-3"))
    );

    let unknown = ListTraces {
        before: Some("absent".into()),
        ..ListTraces::default()
    };
    let refused = store.list_traces(&project, &unknown).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(invalid) if invalid.field == "before"));
}

async fn traces_are_listed_oldest_first_in_pages(store: &dyn Store) {
    let project = ProjectId::from("oldest first");
    for n in 0..4 {
        let id = format!("t-oldest-{n}");
        insert(store, &project, new_trace(&id), Intake::Unreviewed).await;
    }
    judge(store, &project, "t-oldest-1", Verdict::Pass).await;
    let mut list = ListTraces {
        review_status: Some(ReviewStatus::Pending),
        limit: Some(2),
        order: Some(ListOrder::Oldest),
        ..ListTraces::default()
    };
    let mut pages = Vec::new();
    loop {
        let page = store.list_traces(&project, &list).await.unwrap();
        let next = page.cursor().map(|last| last.id.clone());
        let ids = page.iter().map(|trace| trace.id.to_string());
        pages.push(ids.collect::<Vec<_>>().join(" "));
        let Some(last) = next else { break };
        list = list.continued(last);
    }
    assert_eq!(pages, ["t-oldest-0 t-oldest-2", "t-oldest-3"]);

    list.after = Some("absent".into());
    let refused = store.list_traces(&project, &list).await.unwrap_err();
    assert!(matches!(refused, Error::Invalid(invalid) if invalid.field == "after"));
}

async fn projects_are_isolated(store: &dyn Store) {
    let (ours, theirs) = (ProjectId::from("ours"), ProjectId::from("theirs"));
    insert(store, &ours, new_trace("t-ours"), Intake::Unreviewed).await;
    judge(store, &ours, "t-ours", Verdict::Pass).await;
    insert(
        store,
        &theirs,
        using("t-theirs", &["m-t-ours"]),
        Intake::Unreviewed,
    )
    .await;
    let id = TraceId::from("t-ours");
    assert_eq!(store.trace(&theirs, &id).await.unwrap(), None);
    assert_eq!(
        store.memory(&theirs, &"m-t-ours".into()).await.unwrap(),
        None
    );
    assert_eq!(
        withdraw(store, &theirs, "t-ours").await,
        Err(Refusal::NoTrace)
    );
    assert_eq!(
        store.retry_trace(&theirs, &id, now()).await.unwrap(),
        Err(Refusal::NoTrace)
    );
    let deleted = delete_traces(store, &theirs, &[id.as_str()], true, None).await;
    assert_eq!(deleted.unwrap().deleted, 0);
    // A memory of another project does not exist here and is not moved.
    judge(store, &theirs, "t-theirs", Verdict::Fail).await;
    assert_eq!(ignored(store, &theirs, "t-theirs").await, ["m-t-ours"]);
    assert_eq!(q(store, &ours, "m-t-ours").await, (learn::INITIAL, 0));
    let projects = store.projects().await.unwrap();
    assert!(projects.contains(&ours) && projects.contains(&theirs));
    assert!(projects.is_sorted());

    assert!(store.delete_project(&theirs).await.unwrap());
    assert!(!store.delete_project(&theirs).await.unwrap());
    assert_eq!(
        store.trace(&theirs, &"t-theirs".into()).await.unwrap(),
        None
    );
    assert!(store.trace(&ours, &id).await.unwrap().is_some());
}

async fn deleted_traces_leave_their_memories_or_take_them(store: &dyn Store) {
    let project = ProjectId::from("deletion");
    history(
        store,
        &project,
        "gone",
        [Verdict::Pass, Verdict::Pass, Verdict::Fail],
    )
    .await;
    let before = q(store, &project, "m-t-gone-0").await;
    let delete = async |ids: &[&str], with_memories| {
        let gone = delete_traces(store, &project, ids, with_memories, None).await;
        let gone = gone.unwrap();
        let ids: Vec<String> = gone.trace_ids.into_iter().map(String::from).collect();
        (gone.deleted, ids.join(" "))
    };
    let gone = delete(&["t-gone-1", "absent", "t-gone-1"], false).await;
    assert_eq!(gone, (1, "t-gone-1".to_owned()));
    assert_eq!(
        store.trace(&project, &"t-gone-1".into()).await.unwrap(),
        None
    );
    // Its memory and its events stay.
    assert!(
        store
            .memory(&project, &"m-t-gone-1".into())
            .await
            .unwrap()
            .is_some()
    );
    assert_eq!(q(store, &project, "m-t-gone-0").await, before);
    assert_eq!(
        delete(&["t-gone-0"], true).await,
        (1, "t-gone-0".to_owned())
    );
    assert_eq!(
        store.memory(&project, &"m-t-gone-0".into()).await.unwrap(),
        None
    );
    assert_eq!(ignored(store, &project, "t-gone-2").await, ["m-t-gone-0"]);

    // A job is deleted with its trace.
    let queued = Intake::Queued(review("r-t-gone-job", Verdict::Pass));
    insert(store, &project, new_trace("t-gone-job"), queued).await;
    delete(&["t-gone-job"], false).await;
    assert_eq!(
        store
            .claim_jobs(JobKind::Reflection, now(), &lease("one", 60), 9)
            .await
            .unwrap()
            .jobs,
        []
    );
}

async fn tokens_are_summed_by_model_and_arm(store: &dyn Store) {
    let project = ProjectId::from("tokens");
    let runs = [
        (
            "u-1",
            "gpt",
            Some(Arm::Memories),
            Some(Usage::new(Usage::MAX, 1)),
        ),
        ("u-2", "gpt", Some(Arm::Memories), Some(Usage::new(5, 2))),
        ("u-3", "gpt", Some(Arm::Control), Some(Usage::new(3, 0))),
        ("u-4", "gpt", Some(Arm::Control), None),
        ("u-5", "claude", None, Some(Usage::default())),
    ];
    for (id, model, arm, usage) in runs {
        let trace = NewTrace {
            model: Some(model.to_owned()),
            arm,
            usage,
            ..new_trace(id)
        };
        insert(store, &project, trace, Intake::Unreviewed).await;
    }
    let all = TallyQuery::default();
    let mut sums = store.tally_usage(&project, &all).await.unwrap();
    sums.sort_by_key(|tally| (tally.model.clone(), tally.sum.runs));
    let sums: Vec<_> = sums
        .into_iter()
        .map(|tally| {
            (
                tally.arm,
                tally.sum.runs,
                tally.sum.input_tokens,
                tally.sum.output_tokens,
            )
        })
        .collect();
    let expected = [
        (None, 1, 0, 0),
        (Some(Arm::Control), 1, 3, 0),
        (Some(Arm::Memories), 2, Usage::MAX + 5, 3),
    ];
    assert_eq!(sums, expected);
    let later = TallyQuery {
        since: Some(Timestamp::MAX),
        ..TallyQuery::default()
    };
    assert_eq!(store.tally_usage(&project, &later).await.unwrap(), []);
}
