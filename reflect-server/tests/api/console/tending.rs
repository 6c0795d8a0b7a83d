//! Reviews, memories, keys and settings.

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
async fn settings_that_somebody_else_changed_meanwhile_stay() {
    let service = Service::start().await;
    service.trace("t").await;
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    let path = format!("/p/{PROJECT}/settings");
    let first = [("control", "0.2"), ("was_control", "")];
    assert_eq!(browser.post(&path, &first).await.status, 303);
    let second = [
        ("control", ""),
        ("was_control", ""),
        ("max_alpha", "0.4"),
        ("was_max_alpha", ""),
    ];
    assert_eq!(browser.post(&path, &second).await.status, 303);
    let settings = service.get(&at("/settings")).await.body;
    assert_eq!(
        (&settings["control"], &settings["max_alpha"]),
        (&json!(0.2), &json!(0.4))
    );
    // A conflict: `was_control` is not the stored value.
    let late = [("control", "0.7"), ("was_control", "")];
    assert_eq!(browser.post(&path, &late).await.status, 409);
    let settings = service.get(&at("/settings")).await.body;
    assert_eq!(settings["control"], 0.2);
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
async fn a_key_is_made_within_the_visitors_rights_and_what_it_taught_is_undone() {
    let service = Service::start().await;
    let scopes = [
        Scope::KeyAdmin,
        Scope::TraceRead,
        Scope::TraceWrite,
        Scope::ReviewWrite,
    ];
    let key = service.key(PROJECT, &scopes).await;
    let browser = Browser::sign_in(&service, &key).await;
    let path = format!("/p/{PROJECT}/keys");
    let fields = [
        ("label", "agent"),
        ("scope", "trace:write"),
        ("scope", "review:write"),
        ("days", "30"),
        ("max_alpha", "0.2"),
    ];
    let never = [
        ("label", "x"),
        ("scope", "trace:write"),
        ("days", "9223372036854775807"),
    ];
    let never = browser.post(&path, &never).await;
    assert_eq!(never.status, 422);
    assert!(
        never
            .body
            .as_str()
            .unwrap()
            .contains("too far in the future")
    );
    let made = browser.post(&path, &fields).await;
    assert_eq!(made.status, 200, "{made:?}");
    let page = made.body.as_str().unwrap();
    let (_, rest) = page.split_once("class=\"secret\">").unwrap();
    let agent = rest.split('<').next().unwrap().to_owned();
    assert!(!browser.page(&path).await.contains(&agent));
    let stronger = browser
        .post(&path, &[("label", "x"), ("scope", "project:admin")])
        .await;
    assert_eq!(stronger.status, 403);

    let id = service.trace("t").await;
    let path_of_review = at(&format!("/traces/{id}/review"));
    let review = json!({"result": "pass", "feedback_text": "good"});
    let given = service
        .call_as(Some(&agent), Method::POST, &path_of_review, Some(review))
        .await;
    assert!(given.status.is_success(), "{given:?}");
    let keys = service.get(&at("/api-keys")).await;
    let keys = keys.body.as_array().unwrap();
    let id = keys.iter().find(|key| key["label"] == "agent").unwrap()["id"]
        .as_str()
        .unwrap();
    assert_eq!(
        browser
            .get(&format!("/p/{PROJECT}/undo?key={id}"))
            .await
            .status,
        403
    );
    let admin = Browser::sign_in(&service, &service.master.clone()).await;
    let preview = admin.page(&format!("/p/{PROJECT}/undo?key={id}")).await;
    assert!(preview.contains("</b> reviews are taken back"), "{preview}");
    let (_, rest) = preview.split_once("name=\"expect\" value=\"").unwrap();
    let digest = rest.split('"').next().unwrap();
    let undo = format!("/p/{PROJECT}/undo");
    let stale = admin.post(&undo, &[("key", id), ("expect", "other")]).await;
    assert_eq!(stale.status, 409, "{stale:?}");
    let undone = admin.post(&undo, &[("key", id), ("expect", digest)]).await;
    assert_eq!(undone.status, 303, "{undone:?}");
    assert!(
        admin
            .page(&undo)
            .await
            .contains("everything that key agent taught")
    );
    assert_eq!(
        browser
            .post(&format!("{path}/{id}/revoke"), &[])
            .await
            .status,
        303
    );
    assert!(browser.page(&path).await.contains("revoked"));
}

#[tokio::test]
async fn the_settings_bound_the_alpha_of_reviews() {
    let service = Service::start().await;
    service.trace("t").await;
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    let path = format!("/p/{PROJECT}/settings");
    assert_eq!(
        browser.post(&path, &[("max_alpha", "0.4")]).await.status,
        303
    );
    assert!(browser.page(&path).await.contains("value=\"0.4\""));
    let limit = [("max_memories", "500")];
    assert_eq!(browser.post(&path, &limit).await.status, 303);
    let page = browser.page(&path).await;
    let kept = page.contains("value=\"0.4\"") && page.contains("value=\"500\"");
    assert!(kept && page.contains("before one is written"), "{page}");
    let empty = [("max_alpha", ""), ("max_memories", "500")];
    assert_eq!(browser.post(&path, &empty).await.status, 303);
    assert!(!browser.page(&path).await.contains("value=\"0.4\""));
    assert_eq!(browser.post(&path, &[("max_alpha", "7")]).await.status, 422);
    for limit in ["0", "many"] {
        let refused = browser.post(&path, &[("max_memories", limit)]).await;
        assert_eq!(refused.status, 422, "{refused:?}");
    }
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
