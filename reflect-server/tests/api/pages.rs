//! Lists of long records: pages are bounded by bytes, and nothing is left out.

use axum::http::header::LINK;
use serde_json::{Value, json};

use super::support::{Service, at};

/// Follows the pages of a list: the ids of each page.
async fn pages(service: &Service, path: &str) -> Vec<Vec<String>> {
    let (mut next, mut pages) = (Some(at(path)), Vec::new());
    while let Some(path) = next {
        let page = service.get(&path).await;
        assert_eq!(page.status, 200, "{page:?}");
        pages.push(ids(&page.body));
        next = page.headers.get(LINK).map(|link| {
            let link = link.to_str().unwrap();
            let end = link.find('>').unwrap();
            link[1..end].to_owned()
        });
    }
    pages
}

/// Follows an export, which ends with an empty page.
async fn export(service: &Service, path: &str) -> Vec<Vec<String>> {
    let (mut after, mut pages) = (String::new(), Vec::new());
    loop {
        let page = service.get(&at(&format!("{path}{after}"))).await;
        assert_eq!(page.status, 200, "{page:?}");
        let ids = ids(&page.body);
        let Some(last) = ids.last() else {
            return pages;
        };
        after = format!("?after={last}");
        pages.push(ids);
    }
}

fn ids(page: &Value) -> Vec<String> {
    let id = |item: &Value| item["id"].as_str().unwrap().to_owned();
    page.as_array().unwrap().iter().map(id).collect()
}

/// Stores reviewed traces, and expects several pages with all of them in each of these lists.
async fn expect_pages(count: usize, most: usize, trace: &Value, lists: [&str; 2]) {
    let service = Service::start().await;
    for _ in 0..count {
        let stored = service.post(&at("/traces"), trace.clone()).await;
        assert_eq!(stored.status, 201, "{stored:?}");
    }
    let [list, archive] = lists;
    for pages in [pages(&service, list).await, export(&service, archive).await] {
        let lengths: Vec<usize> = pages.iter().map(Vec::len).collect();
        assert!(lengths.iter().all(|len| *len <= most), "{lengths:?}");
        assert_eq!(lengths.iter().sum::<usize>(), count, "{lengths:?}");
    }
}

fn reviewed(long: &str, metadata: &str) -> Value {
    json!({
        "task": "t", "trajectory": [{"role": "user", "content": long}],
        "metadata": {"long": metadata},
        "review": {"result": "pass", "reflection": {"summary": "s", "guidance": "g"}},
    })
}

#[tokio::test]
async fn pages_of_long_traces_end_early_and_lose_nothing() {
    let trace = reviewed(&"x".repeat(3_000_000), "");
    expect_pages(7, 2, &trace, ["/traces", "/archive/traces"]).await;
}

#[tokio::test]
async fn pages_of_long_memories_end_early_and_lose_nothing() {
    let trace = reviewed("x", &"x".repeat(60_000));
    expect_pages(90, 75, &trace, ["/memories", "/archive/memories"]).await;
}

#[tokio::test]
async fn pages_of_long_changes_end_early_and_lose_nothing() {
    let service = Service::start().await;
    let long = "x".repeat(8_000);
    let text = json!({
        "summary": long, "guidance": long, "key_mistake": long, "correct_action": long,
    });
    let change = json!({
        "id": "1", "memory_id": "m", "kind": "edited", "before": text, "edit": text,
        "created_at": "2026-01-01T00:00:00Z",
    });
    let memory = json!({
        "kind": "memory", "id": "m", "trace_id": "t", "task": "t", "success": true, "q_value": 0.5,
        "uses": 0, "metadata": {}, "created_at": "2026-01-01T00:00:00Z", "events": [],
        "changes": vec![change; 70],
    });
    let import = json!({"pieces": [memory]});
    let imported = service.post(&at("/archive"), import).await;
    assert_eq!(imported.body["stored"], 1, "{imported:?}");
    let pages = pages(&service, "/memory/changes?limit=1000").await;
    let lengths: Vec<usize> = pages.iter().map(Vec::len).collect();
    assert_eq!(lengths.len(), 2, "{lengths:?}");
    assert_eq!(lengths.iter().sum::<usize>(), 70, "{lengths:?}");
}

#[tokio::test]
async fn long_trace_is_returned_as_it_was_sent() {
    let service = Service::start().await;
    let trajectory = json!(vec![
        json!({"role": "user", "content": "ü\n\u{1F600}", "n": 0.1});
        5_000
    ]);
    let metadata = json!({"a": [1, 36.323_157_585_588_476, null], "b": {"c": ""}});
    let trace = json!({"task": "t", "trajectory": trajectory, "metadata": metadata,
        "retrieved_memory_ids": ["m-1", "m-1"]});
    let stored = service.post(&at("/traces"), trace).await;
    let id = stored.body["trace_id"].as_str().unwrap();
    let one = service.get(&at(&format!("/traces/{id}"))).await;
    assert_eq!(one.headers["content-type"], "application/json");
    for found in [one.body, service.get(&at("/traces")).await.body[0].clone()] {
        assert_eq!(found["trajectory"], trajectory);
        assert_eq!(found["metadata"], metadata);
        assert_eq!(found["retrieved_memory_ids"], json!(["m-1", "m-1"]));
        assert_eq!(found["ignored_memory_ids"], json!([]));
    }
}
