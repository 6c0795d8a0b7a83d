//! Settings and keys.

use super::*;

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
