//! Memories.

use super::*;

#[tokio::test]
async fn an_edit_of_a_text_that_was_edited_meanwhile_is_a_conflict() {
    let service = Service::start().await;
    let body = json!({
        "task": "Change a flight", "trajectory": "x",
        "review": {"result": "fail", "reflection": {"summary": "Refused.", "guidance": "Ask."}}
    });
    service.post(&at("/traces"), body).await;
    let memories = service.get(&at("/memories")).await;
    let path = at(&format!(
        "/memories/{}",
        memories.body[0]["id"].as_str().unwrap()
    ));
    let patch = async |body| service.call(Method::PATCH, &path, Some(body)).await;
    let edit = json!({"reflection": {"summary": "Better."}, "known": {"summary": "Refused."}});
    assert_eq!(patch(edit.clone()).await.status, 200);
    // Once more, as after a lost reply.
    assert_eq!(patch(edit).await.status, 200);
    let late = json!({"reflection": {"summary": "Other."}, "known": {"summary": "Refused."}});
    assert_eq!(patch(late).await.status, 409);
    let with_status = json!({"reflection": {"summary": "Better."}, "known": {"guidance": "Wait."},
        "status": "quarantined"});
    assert_eq!(patch(with_status).await.status, 409);
    for unusable in [
        json!({}),
        json!({"sumary": "Refused."}),
        json!({"summary": "x".repeat(9_000)}),
    ] {
        let edit = json!({"reflection": {"summary": "Other."}, "known": unusable});
        assert_eq!(patch(edit).await.status, 422, "{unusable}");
    }
    let memory = service.get(&path).await.body;
    assert_eq!(
        (&memory["summary"], &memory["status"]),
        (&json!("Better."), &json!("active"))
    );
}

#[tokio::test]
async fn a_memory_is_found_edited_set_aside_and_deleted() {
    let service = Service::start().await;
    let body = json!({
        "task": "Change a flight with a certificate",
        "trajectory": [{"role": "assistant", "content": "x"}],
        "review": {"result": "fail", "reflection": {"summary": "Refused.", "guidance": "Ask for a card."}}
    });
    service.post(&at("/traces"), body).await;
    let memories = service.get(&at("/memories")).await;
    let id = memories.body[0]["id"].as_str().unwrap();
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    let search = "memories?q=change+a+flight&ranking=classic&lambda=0.1&floor=0&variety=0.3";
    let found = browser.page(&format!("/p/{PROJECT}/{search}")).await;
    assert!(
        found.contains("1 of 1 shown") && found.contains("Ask for a card."),
        "{found}"
    );
    let refused = browser
        .page(&format!("/p/{PROJECT}/memories?q=plants&floor=1"))
        .await;
    assert!(refused.contains("below the floor of 1.00"), "{refused}");

    let path = format!("/p/{PROJECT}/memories/{id}");
    let fields = [
        ("was_guidance", "Ask for a card."),
        ("guidance", "Ask for a card first."),
        ("note", "clearer"),
    ];
    let edit = format!("{path}/edit");
    assert_eq!(browser.post(&edit, &fields).await.status, 303);
    // A second click changes nothing and is no conflict.
    assert_eq!(browser.post(&edit, &fields).await.status, 303);
    let note = [("note", "a note alone")];
    assert_eq!(browser.post(&edit, &note).await.status, 422);
    let blank = [("was_summary", "Refused."), ("summary", " ")];
    assert_eq!(browser.post(&edit, &blank).await.status, 422);
    let page = browser.page(&path).await;
    assert!(
        page.contains("Ask for a card first.") && page.contains("clearer"),
        "{page}"
    );
    assert_eq!(hidden_field(&page, "was_summary"), "Refused.");
    // The form of a page that is older than the edit: unchanged texts stay, changed ones are a conflict.
    let early = [
        ("was_guidance", "Ask for a card."),
        ("guidance", "Ask for a card."),
        ("was_key_mistake", ""),
        ("key_mistake", "It took\r\na certificate."),
    ];
    assert_eq!(browser.post(&edit, &early).await.status, 303);
    let late = [
        ("was_guidance", "Ask for a card."),
        ("guidance", "Ask nothing."),
    ];
    assert_eq!(browser.post(&edit, &late).await.status, 409);
    let edited = service.get(&at(&format!("/memories/{id}"))).await.body;
    assert_eq!(edited["guidance"], "Ask for a card first.");
    assert_eq!(edited["key_mistake"], "It took\na certificate.");
    let aside = [("action", "quarantine")];
    assert_eq!(
        browser.post(&format!("{path}/status"), &aside).await.status,
        303
    );
    assert!(browser.page(&path).await.contains("value=\"restore\""));
    let reader = service
        .key(PROJECT, &[Scope::MemoryRead, Scope::TraceRead])
        .await;
    let reader = Browser::sign_in(&service, &reader).await;
    assert!(!reader.page(&path).await.contains("Delete for good"));
    assert_eq!(
        reader.post(&format!("{path}/delete"), &[]).await.status,
        403
    );
    assert_eq!(
        browser.post(&format!("{path}/delete"), &[]).await.status,
        303
    );
    assert_eq!(browser.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_memory_that_waits_is_approved_in_the_console() {
    let service = Service::start().await;
    let trace = service.trace("Refund order 7").await;
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    let path = format!("/p/{PROJECT}/settings");
    let choices = [
        ("ranking", "classic"),
        ("approve", "first"),
        ("control", "0.1"),
    ];
    assert_eq!(browser.post(&path, &choices).await.status, 303);
    let page = browser.page(&path).await;
    for chosen in ["classic", "first"] {
        assert!(
            page.contains(&format!("value=\"{chosen}\" selected")),
            "{page}"
        );
    }
    assert!(page.contains(
        "name=\"control\" type=\"number\" min=\"0\" max=\"1\" step=\"any\" value=\"0.1\""
    ));
    for unknown in [
        ("ranking", "random"),
        ("approve", "never"),
        ("control", "1.5"),
    ] {
        assert_eq!(browser.post(&path, &[unknown]).await.status, 422);
    }
    let review = at(&format!("/traces/{trace}/review"));
    service.post(&review, json!({"result": "pass"})).await;
    let waiting = format!("/p/{PROJECT}/memories?status=staged");
    assert!(
        browser
            .page(&waiting)
            .await
            .contains("waiting for approval")
    );
    let memories = service.get(&at("/memories")).await;
    let memory = memories.body[0]["id"].as_str().unwrap();
    let page = browser
        .page(&format!("/p/{PROJECT}/memories/{memory}"))
        .await;
    assert!(page.contains("Approve</button>"), "{page}");
    let status = format!("/p/{PROJECT}/memories/{memory}/status");
    let rejected = browser.post(&status, &[("action", "quarantine")]).await;
    assert_eq!(rejected.status, 303);
    let list = format!("/p/{PROJECT}/memories?status=quarantined");
    assert!(browser.page(&list).await.contains("set aside"));
    let approve = format!("/p/{PROJECT}/memories/{memory}/status");
    let approved = browser.post(&approve, &[("action", "restore")]).await;
    assert_eq!(approved.status, 303);
    let nothing = browser.page(&waiting).await;
    assert!(
        nothing.contains("No memory waits for approval"),
        "{nothing}"
    );
}
