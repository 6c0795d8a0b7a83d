//! Near-duplicates.

use super::*;

#[tokio::test]
async fn near_duplicates_are_shown_side_by_side_and_can_be_kept_apart() {
    let service = Service::start().await;
    let mut memories = Vec::new();
    for _ in 0..2 {
        let id = service.trace("Refund order 7 of the customer").await;
        let feedback = "Orders older than 30 days must not be refunded: offer a voucher instead";
        let review = json!({"result": "fail", "feedback_text": feedback});
        service
            .post(&at(&format!("/traces/{id}/review")), review)
            .await;
        let trace = service.get(&at(&format!("/traces/{id}"))).await;
        memories.push(trace.body["created_memory_id"].as_str().unwrap().to_owned());
    }
    // The next query decides what is merged.
    let query = json!({"task": "Refund order 8"});
    service.post(&at("/memory/query"), query).await;
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    let page = |id: &str| format!("/p/{PROJECT}/memories/{id}");
    let stands = browser.page(&page(&memories[0])).await;
    assert!(stands.contains("this memory stands"), "{stands}");
    assert!(
        stands.contains("1 merged") && stands.contains("the same"),
        "{stands}"
    );
    let merged = browser.page(&page(&memories[1])).await;
    assert!(merged.contains("the memory that stands"), "{merged}");
    let list = format!("/p/{PROJECT}/memories?status=merged");
    assert!(browser.page(&list).await.contains(&page(&memories[1])));

    let restore = format!("{}/status", page(&memories[1]));
    let restored = browser.post(&restore, &[("action", "restore")]).await;
    assert_eq!(restored.status, 303, "{restored:?}");
    let apart = browser.page(&page(&memories[0])).await;
    assert!(!apart.contains("this memory stands"), "{apart}");
}
