//! Reviews.

use super::*;

#[tokio::test]
async fn a_review_leads_to_the_next_trace_and_its_undo_puts_utilities_back() {
    let service = Service::start().await;
    let first = service.trace("Refund order 7").await;
    service
        .post(
            &at(&format!("/traces/{first}/review")),
            json!({"result": "pass"}),
        )
        .await;
    let memories = service.get(&at("/memories")).await;
    let memory = memories.body[0]["id"].as_str().unwrap().to_owned();
    let body = json!({
        "task": "Refund order 8", "retrieved_memory_ids": [memory],
        "trajectory": [{"role": "assistant", "content": "Refunded."}]
    });
    let stored = service.post(&at("/traces"), body).await;
    let id = stored.body["trace_id"].as_str().unwrap();
    let key = service
        .key(PROJECT, &[Scope::TraceRead, Scope::ReviewWrite])
        .await;
    let browser = Browser::sign_in(&service, &key).await;
    let queue = browser.page(&format!("/p/{PROJECT}/review")).await;
    assert!(
        queue.contains("1 waiting") && queue.contains("used an untested memory"),
        "{queue}"
    );

    let utility =
        async || service.get(&at(&format!("/memories/{memory}"))).await.body["q_value"].clone();
    let before = utility().await;
    let path = format!("/p/{PROJECT}/review/{id}");
    let forged = Browser {
        csrf: "guess".to_owned(),
        ..Browser::sign_in(&service, &key).await
    };
    assert_eq!(forged.post(&path, &[("verdict", "pass")]).await.status, 403);
    assert_eq!(utility().await, before);
    let given = browser
        .post(&path, &[("verdict", "fail"), ("feedback", "Too late")])
        .await;
    assert_eq!(given.status, 303, "{given:?}");
    let next = given.headers[header::LOCATION].to_str().unwrap();
    assert_ne!(utility().await, before);
    let done = browser.page(next).await;
    assert!(
        done.contains("Nothing waits") && done.contains("Failed “Refund order 8”"),
        "{done}"
    );

    let earlier = browser
        .post(&format!("{path}/undo"), &[("review", "rev_earlier")])
        .await;
    assert_eq!(earlier.status, 409);
    let review = hidden_field(&done, "review");
    let undone = browser
        .post(&format!("{path}/undo"), &[("review", &review)])
        .await;
    assert_eq!(undone.status, 303, "{undone:?}");
    assert_eq!(utility().await, before);
    let others = service.get(&at(&format!("/traces/{first}"))).await.body["review"]["id"].clone();
    let others = browser
        .post(
            &format!("/p/{PROJECT}/review/{first}/undo"),
            &[("review", others.as_str().unwrap())],
        )
        .await;
    assert_eq!(others.status, 403);
}

#[tokio::test]
async fn a_person_replaces_a_judges_verdict_and_the_undo_brings_it_back() {
    let service = Service::start().await;
    let id = service.trace("Refund order 7").await;
    let judged = json!({"result": "fail", "feedback_text": "late", "reviewer": {"model": "gpt"}});
    service
        .post(&at(&format!("/traces/{id}/review")), judged)
        .await;
    let key = service
        .key(PROJECT, &[Scope::TraceRead, Scope::ReviewWrite])
        .await;
    let browser = Browser::sign_in(&service, &key).await;
    let queue = browser.page(&format!("/p/{PROJECT}/review")).await;
    assert!(
        queue.contains("judge: fail") && queue.contains("suggests fail"),
        "{queue}"
    );
    let path = format!("/p/{PROJECT}/review/{id}");
    let given = browser.post(&path, &[("verdict", "pass")]).await;
    assert_eq!(given.status, 303, "{given:?}");
    let verdict =
        async || service.get(&at(&format!("/traces/{id}"))).await.body["review"]["result"].clone();
    assert_eq!(verdict().await, "pass");
    let next = given.headers[header::LOCATION].to_str().unwrap();
    let review = hidden_field(&browser.page(next).await, "review");
    let undone = browser
        .post(&format!("{path}/undo"), &[("review", &review)])
        .await;
    assert_eq!(undone.status, 303, "{undone:?}");
    assert_eq!(verdict().await, "fail");
}

#[tokio::test]
async fn a_verdict_that_is_confirmed_without_a_word_keeps_the_judges_words() {
    let service = Service::start().await;
    let id = service.trace("Refund order 7").await;
    let judged = json!({"result": "fail", "feedback_text": "Look at the order first",
        "reviewer": {"model": "gpt"}});
    service
        .post(&at(&format!("/traces/{id}/review")), judged)
        .await;
    let key = service
        .key(PROJECT, &[Scope::TraceRead, Scope::ReviewWrite])
        .await;
    let browser = Browser::sign_in(&service, &key).await;
    let path = format!("/p/{PROJECT}/review/{id}");
    let given = browser.post(&path, &[("verdict", "fail")]).await;
    assert_eq!(given.status, 303, "{given:?}");
    let memories = service.get(&at("/memories")).await;
    assert_eq!(memories.body[0]["feedback"], "Look at the order first");
    let page = browser.page(&format!("/p/{PROJECT}/traces/{id}")).await;
    assert!(
        page.contains("confirmed the verdict of judge gpt"),
        "{page}"
    );
    // A run that is reviewed already offers no second review, but an undo.
    let again = browser
        .page(&format!("/p/{PROJECT}/review?trace={id}"))
        .await;
    assert!(again.contains("by you") && !again.contains("value=\"pass\""));
}

#[tokio::test]
async fn of_two_people_who_review_a_run_at_once_the_second_one_is_told() {
    let service = Service::start().await;
    let scopes = [Scope::TraceRead, Scope::ReviewWrite];
    let [one, other] = [
        service.key(PROJECT, &scopes).await,
        service.key(PROJECT, &scopes).await,
    ];
    let one = Browser::sign_in(&service, &one).await;
    let other = Browser::sign_in(&service, &other).await;
    for number in 0..10 {
        let id = service.trace(&format!("Refund order {number}")).await;
        let path = format!("/p/{PROJECT}/review/{id}");
        let words = |words| [("verdict", "fail"), ("feedback", words)];
        let (first, second) = (words("no receipt"), words("wrong amount"));
        let (first, second) = tokio::join!(one.post(&path, &first), other.post(&path, &second));
        let mut statuses = [first.status.as_u16(), second.status.as_u16()];
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 409], "{first:?} {second:?}");
        let stored = service.get(&at(&format!("/traces/{id}"))).await;
        let kept = if first.status == 303 {
            "no receipt"
        } else {
            "wrong amount"
        };
        assert_eq!(stored.body["review"]["feedback_text"], kept);
    }
}
