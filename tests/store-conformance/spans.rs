//! Spans of OpenTelemetry until the runs of their trace are recorded.

use std::collections::BTreeSet;

use super::*;

on_every_store! {
    spans_are_kept_in_order_until_their_trace_is_due,
    spans_that_come_again_or_too_late_are_recognised,
    a_trace_that_nobody_finished_is_claimed_again,
    a_trace_is_of_one_key_and_of_one_project,
    a_trace_has_limits,
    concurrent_requests_and_claims_lose_and_share_nothing,
}

/// Spans with these ids that make the trace due at 60 s, or at 5 s with its root.
fn batch(trace_id: &str, ids: &[&str], has_root: bool) -> SpanBatch {
    let part = |id: &&str| SpanPart {
        id: (*id).to_owned(),
        body: format!("\"{id} \\u0000 ü\""),
    };
    SpanBatch {
        trace_id: trace_id.to_owned(),
        parts: ids.iter().map(part).collect(),
        has_root,
        due: seconds(60),
        due_with_root: seconds(5),
    }
}

async fn add(store: &dyn Store, project: &ProjectId, batches: Vec<SpanBatch>) -> SpanCounts {
    let author = SpanAuthor {
        key_id: Some("key_1".into()),
        creates_project: true,
    };
    let added = store.insert_spans(project, &author, batches).await;
    added.unwrap()
}

async fn claim(store: &dyn Store, at: i64, until: i64) -> Vec<SpanTrace> {
    let claims = store.claim_span_traces(seconds(at), seconds(until), 9);
    claims.await.unwrap().traces
}

fn ids(trace: &SpanTrace) -> Vec<&str> {
    let id = |part: &String| -> usize { part.find(' ').unwrap() };
    trace.parts.iter().map(|part| &part[1..id(part)]).collect()
}

fn counts(added: u64, repeated: u64, late: u64, over_limit: u64) -> SpanCounts {
    let mut counts = SpanCounts::default();
    counts.added = added;
    counts.repeated = repeated;
    counts.late = late;
    counts.over_limit = over_limit;
    counts
}

async fn spans_are_kept_in_order_until_their_trace_is_due(store: &dyn Store) {
    let project = ProjectId::from("spans");
    let first = add(store, &project, vec![batch("t-1", &["c", "b"], false)]).await;
    assert_eq!(first, counts(2, 0, 0, 0));
    let claims = store
        .claim_span_traces(seconds(59), seconds(99), 9)
        .await
        .unwrap();
    assert_eq!(
        (claims.traces.len(), claims.next_due),
        (0, Some(seconds(60)))
    );
    let again = add(store, &project, vec![batch("t-1", &["b", "a"], true)]).await;
    assert_eq!(again, counts(1, 1, 0, 0));
    // Its root is there, also for spans that come after it.
    add(store, &project, vec![batch("t-1", &["d"], false)]).await;
    let claimed = claim(store, 5, 35).await;
    assert_eq!(ids(&claimed[0]), ["c", "b", "a", "d"]);
    assert_eq!(claimed[0].parts[0], "\"c \\u0000 ü\"");
    assert_eq!(
        (&claimed[0].project, &claimed[0].key_id, claimed[0].attempts),
        (&project, &Some("key_1".into()), 1)
    );
    assert_eq!(claim(store, 5, 35).await, [], "it is held");
    store.close_span_trace(claimed[0].key, None).await.unwrap();
    assert_eq!(claim(store, 999, 1_000).await, []);
}

async fn spans_that_come_again_or_too_late_are_recognised(store: &dyn Store) {
    let project = ProjectId::from("late-spans");
    add(store, &project, vec![batch("t-2", &["a", "b"], true)]).await;
    let claimed = claim(store, 5, 35).await;
    let sent = || vec![batch("t-2", &["b", "c"], false), batch("t-3", &["x"], true)];
    assert_eq!(add(store, &project, sent()).await, counts(1, 1, 1, 0));
    let forget = Some(seconds(100));
    store
        .close_span_trace(claimed[0].key, forget)
        .await
        .unwrap();
    assert_eq!(add(store, &project, sent()).await, counts(0, 2, 1, 0));
    let other = claim(store, 99, 999).await;
    assert_eq!(other.iter().map(ids).collect::<Vec<_>>(), [["x"]]);
    store.close_span_trace(other[0].key, None).await.unwrap();
    assert_eq!(claim(store, 100, 999).await, []);
    let after = add(store, &project, vec![batch("t-2", &["b", "c"], true)]).await;
    assert_eq!(after, counts(2, 0, 0, 0), "the trace is forgotten");
    let claimed = claim(store, 100, 999).await;
    store.close_span_trace(claimed[0].key, None).await.unwrap();
}

async fn a_trace_that_nobody_finished_is_claimed_again(store: &dyn Store) {
    let project = ProjectId::from("held-spans");
    add(store, &project, vec![batch("t-4", &["a"], true)]).await;
    let first = claim(store, 5, 35).await;
    assert_eq!(claim(store, 34, 64).await, []);
    let second = claim(store, 35, 65).await;
    assert_eq!((second[0].key, second[0].attempts), (first[0].key, 2));
    assert_eq!(ids(&second[0]), ["a"]);
    store.close_span_trace(second[0].key, None).await.unwrap();
}

async fn a_trace_is_of_one_key_and_of_one_project(store: &dyn Store) {
    let (one, other) = (ProjectId::from("a"), ProjectId::from("b"));
    for project in [&one, &other] {
        add(store, project, vec![batch("t-5", &["a"], true)]).await;
    }
    let author = SpanAuthor::default();
    let spans = vec![batch("t-5", &["b"], true)];
    store
        .insert_spans(&one, &author, spans.clone())
        .await
        .unwrap();
    let absent = ProjectId::from("absent");
    let refused = store.insert_spans(&absent, &author, spans).await;
    assert!(matches!(refused, Err(Error::NoProject(id)) if id == absent));
    assert!(store.delete_project(&other).await.unwrap());
    let mut claimed = claim(store, 5, 35).await;
    claimed.sort_by_key(|trace| trace.key_id.clone());
    assert_eq!(claimed.iter().map(ids).collect::<Vec<_>>(), [["b"], ["a"]]);
    assert_eq!(claimed[0].key_id, None);
    for trace in claimed {
        store.close_span_trace(trace.key, None).await.unwrap();
    }
}

async fn a_trace_has_limits(store: &dyn Store) {
    let project = ProjectId::from("many-spans");
    let all: Vec<String> = (0..SpanBatch::MAX_PARTS + 2)
        .map(|n| format!("s{n}"))
        .collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let filled = add(store, &project, vec![batch("t-6", &all, false)]).await;
    assert_eq!(filled, counts(10_000, 0, 0, 2));
    let more = add(
        store,
        &project,
        vec![batch("t-6", &["s1", "one more"], true)],
    )
    .await;
    assert_eq!(more, counts(0, 1, 0, 1));
    let mut long = batch("t-7", &["a"], true);
    long.parts[0].body = "x".repeat(SpanBatch::MAX_BYTES + 1);
    assert_eq!(add(store, &project, vec![long]).await, counts(0, 0, 0, 1));
    // What was taken is recorded.
    let claimed = claim(store, 5, 35).await;
    let lengths: BTreeSet<usize> = claimed.iter().map(|trace| trace.parts.len()).collect();
    assert_eq!(lengths, BTreeSet::from([0, 10_000]));
    for trace in claimed {
        store.close_span_trace(trace.key, None).await.unwrap();
    }
}

/// Whatever was accepted is in the trace that somebody claimed.
async fn concurrent_requests_and_claims_lose_and_share_nothing(store: &dyn Store) {
    let project = ProjectId::from("spans-together");
    let (mut accepted, mut found, mut keys) = (0, 0, BTreeSet::new());
    for round in 0..10 {
        let (first, second) = (format!("t-8-{round}"), format!("t-9-{round}"));
        let send = async |ids: &[&str], turned: bool| {
            let mut batches = vec![batch(&first, ids, true), batch(&second, ids, true)];
            if turned {
                batches.reverse();
            }
            add(store, &project, batches).await.added
        };
        let ((one, other), two, three) = tokio::join!(
            async { tokio::join!(send(&["a", "b"], false), send(&["b", "c"], true)) },
            claim(store, 5, 1_000),
            claim(store, 5, 1_000),
        );
        accepted += one + other;
        for trace in two
            .into_iter()
            .chain(three)
            .chain(claim(store, 5, 1_000).await)
        {
            found += trace.parts.len() as u64;
            assert!(keys.insert(trace.key), "two have claimed it");
            store
                .close_span_trace(trace.key, Some(seconds(9_999)))
                .await
                .unwrap();
        }
    }
    assert_eq!(found, accepted);
}
