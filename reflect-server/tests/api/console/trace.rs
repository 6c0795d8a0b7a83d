//! The page of a trace.

use super::*;

#[tokio::test]
async fn the_page_of_a_long_trace_is_bounded_and_its_download_is_whole() {
    let service = Service::start().await;
    let text = "\u{7f}".repeat(600_000);
    let body = json!({"task": "Long", "trajectory": [{"role": "tool", "content": text}]});
    let stored = service.post(&at("/traces"), body).await;
    let id = stored.body["trace_id"].as_str().unwrap();
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    for page in [
        format!("/p/{PROJECT}/traces/{id}"),
        format!("/p/{PROJECT}/traces/{id}/raw"),
        format!("/p/{PROJECT}/review?trace={id}"),
    ] {
        let length = browser.page(&page).await.len();
        assert!(length < 3_000_000, "{page}: {length}");
    }
    let whole = browser.get(&format!("/p/{PROJECT}/traces/{id}/json")).await;
    assert_eq!(whole.body["trajectory"][0]["content"], text);
}

#[tokio::test]
async fn the_page_of_a_trace_shows_how_its_memories_rank_and_who_reviewed_it() {
    let service = Service::start().await;
    let first = service.trace("Refund order 7").await;
    let review = json!({"result": "pass"});
    service
        .post(&at(&format!("/traces/{first}/review")), review)
        .await;
    let memories = service.get(&at("/memories")).await;
    let body = json!({
        "task": "Refund order 8", "retrieved_memory_ids": [memories.body[0]["id"]],
        "trajectory": [{"role": "assistant", "content": "Refunded."}]
    });
    let stored = service.post(&at("/traces"), body).await;
    let id = stored.body["trace_id"].as_str().unwrap();
    let path = format!("/p/{PROJECT}/traces/{id}");
    let blind = [Scope::TraceRead, Scope::ReviewWrite];
    let blind = Browser::sign_in(&service, &service.key(PROJECT, &blind).await).await;
    for page in [&path, &format!("/p/{PROJECT}/review?trace={id}")] {
        let page = blind.page(page).await;
        assert!(page.contains("may not read"), "{page}");
        assert!(!page.contains("similarity"), "{page}");
    }
    let scopes = [
        Scope::TraceRead,
        Scope::ReviewWrite,
        Scope::KeyAdmin,
        Scope::MemoryRead,
    ];
    let browser = Browser::sign_in(&service, &service.key(PROJECT, &scopes).await).await;
    let page = browser.page(&path).await;
    assert!(page.contains("a run keeps the order only"), "{page}");
    assert!(
        page.contains("similarity 0.9") && page.contains(" here</span><span>utility "),
        "{page}"
    );
    assert!(page.contains("Review this run"), "{page}");
    let given = [("verdict", "pass")];
    browser
        .post(&format!("/p/{PROJECT}/review/{id}"), &given)
        .await;
    let page = browser.page(&path).await;
    assert!(
        page.contains("by a person") && page.contains("key test<"),
        "{page}"
    );
    assert!(!page.contains("Review this run"), "{page}");
    // Another person with the run still open does not lose words without being told.
    let late = [("verdict", "fail"), ("feedback", "Ask for the receipt")];
    let review = format!("/p/{PROJECT}/review/{id}");
    let refused = blind.post(&review, &late).await;
    assert_eq!(refused.status, 409);
    let said = refused.body.as_str().unwrap();
    assert!(said.contains("reviewed this run meanwhile"), "{said}");
}

#[tokio::test]
async fn the_page_of_a_trace_draws_the_runs_around_it_and_links_its_session() {
    let service = Service::start().await;
    let record = async |task: &str, id: &str, more: serde_json::Value| {
        let mut body = json!({"task": task, "trajectory": "done"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let request = Request::post(at("/traces"))
            .header("idempotency-key", id)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", service.master));
        let stored = service
            .send(request.body(body.to_string().into()).unwrap())
            .await;
        stored.body["trace_id"].as_str().unwrap().to_owned()
    };
    let plan = record(
        "Plan the trip",
        "run-1",
        json!({"session_id": "ticket <7>"}),
    )
    .await;
    let step = record("Find a flight", "run-2", json!({"parent_run_id": "run-1"})).await;
    let lost = record("Find a hotel", "run-3", json!({"parent_run_id": "run-0"})).await;
    let path = |id: &str| format!("/p/{PROJECT}/traces/{id}");
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    let page = browser.page(&path(&plan)).await;
    assert!(
        page.contains("Runs around it") && page.contains(&path(&step)),
        "{page}"
    );
    let session = format!("/p/{PROJECT}/traces?session=ticket%20%3C7%3E");
    assert!(
        page.contains(&session) && page.contains("ticket &#60;7&#62;"),
        "{page}"
    );
    let listed = browser.page(&session).await;
    assert!(
        listed.contains("Plan the trip") && !listed.contains("Find a"),
        "{listed}"
    );
    let page = browser.page(&path(&step)).await;
    assert!(
        page.contains(&path(&plan)) && page.contains("aria-current"),
        "{page}"
    );
    let page = browser.page(&path(&lost)).await;
    assert!(
        page.contains("<code>run-0</code>, which has not arrived"),
        "{page}"
    );
    let tree = service.get(&at(&format!("/traces/{step}/tree"))).await;
    assert_eq!(tree.body["runs"][1]["task"], "Find a flight");
    assert_eq!(tree.body["runs"][1]["depth"], 1);
}
