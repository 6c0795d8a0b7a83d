//! The page of a trace.

use super::*;

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
    let scopes = [Scope::TraceRead, Scope::ReviewWrite, Scope::KeyAdmin];
    let browser = Browser::sign_in(&service, &service.key(PROJECT, &scopes).await).await;
    let path = format!("/p/{PROJECT}/traces/{id}");
    let page = browser.page(&path).await;
    assert!(page.contains("a run keeps the order only"), "{page}");
    assert!(
        page.contains("similarity 0.9") && page.contains("score 0."),
        "{page}"
    );
    assert!(page.contains("Review this run"), "{page}");
    let given = [("verdict", "pass")];
    browser
        .post(&format!("/p/{PROJECT}/review/{id}"), &given)
        .await;
    let page = browser.page(&path).await;
    assert!(
        page.contains("by a person") && page.contains("key test ("),
        "{page}"
    );
    assert!(!page.contains("Review this run"), "{page}");
}
