//! Signing in, what a session may do, and signing out.

use super::*;

#[tokio::test]
async fn a_key_signs_in_and_the_session_ends_with_it() {
    let service = Service::start().await;
    let key = service
        .key(PROJECT, &[Scope::TraceRead, Scope::KeyAdmin])
        .await;
    let browser = Browser::sign_in(&service, &key).await;
    let start = browser.get("/").await;
    assert_eq!(
        start.headers[header::LOCATION],
        format!("/p/{PROJECT}/traces")
    );

    let keys = service.get(&at("/api-keys")).await;
    let id = keys.body[0]["id"].as_str().unwrap();
    service
        .post(&at(&format!("/api-keys/{id}/revoke")), json!({}))
        .await;
    let out = browser.get(&format!("/p/{PROJECT}/traces?q=a")).await;
    assert_eq!(out.status, 303);
    let next = out.headers[header::LOCATION].to_str().unwrap();
    assert_eq!(
        next,
        format!("/sign-in?next=%2Fp%2F{PROJECT}%2Ftraces%3Fq%3Da")
    );
    let lost = browser.post(&format!("/p/{PROJECT}/keys"), &[]).await;
    let next = lost.headers[header::LOCATION].to_str().unwrap();
    assert!(next.ends_with("&unsaved=1"), "{next}");
    let asked = browser.page(next).await;
    assert!(asked.contains("the last change was not made"), "{asked}");
}

#[tokio::test]
async fn a_key_begins_with_a_page_that_it_may_see_or_is_refused() {
    let service = Service::start().await;
    let key = service.key(PROJECT, &[Scope::TraceWrite]).await;
    let refused = sign_in(&service, &[("key", &key)]).await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.as_str().unwrap().contains("trace:read"));
    let key = service.key(PROJECT, &[Scope::ProjectAdmin]).await;
    let admin = sign_in(&service, &[("key", &key)]).await;
    let cookie = cookie_of(&admin);
    let start = Request::get("/").header(header::COOKIE, &cookie);
    let start = service.send(start.body("".into()).unwrap()).await;
    assert_eq!(
        start.headers[header::LOCATION],
        format!("/p/{PROJECT}/settings")
    );
    // Who signs in again ends the session before.
    let form = Request::get("/sign-in").header(header::COOKIE, &cookie);
    let form = service.send(form.body("".into()).unwrap()).await;
    let token = hidden_field(form.body.as_str().unwrap(), "token");
    let cookies = format!("{cookie}; {}", cookie_of(&form));
    let fields = [("token", token.as_str()), ("key", &key)];
    assert_eq!(
        post(&service, "/sign-in", &cookies, &fields).await.status,
        303
    );
    let ended = Request::get(format!("/p/{PROJECT}/settings")).header(header::COOKIE, &cookie);
    let ended = service.send(ended.body("".into()).unwrap()).await;
    assert_eq!(ended.status, 303);
}

#[tokio::test]
async fn a_wrong_key_is_refused_with_the_reason() {
    let service = Service::start().await;
    let refused = sign_in(&service, &[("key", "rf_live_no")]).await;
    assert_eq!(refused.status, 401);
    assert!(
        refused
            .body
            .as_str()
            .unwrap()
            .contains("unknown or revoked")
    );
    let cookies = refused.headers.get_all(header::SET_COOKIE);
    let is_session = |cookie: &header::HeaderValue| cookie.as_bytes().starts_with(b"reflect_ses");
    assert!(!cookies.iter().any(is_session));
    let long = "x".repeat(20_000);
    let refused = post(&service, "/sign-in", "", &[("key", &long)]).await;
    assert_eq!(refused.status, 413);
    let many: Vec<_> = (0..200).map(|_| ("a", "")).collect();
    let refused = post(&service, "/sign-in", "", &many).await;
    assert_eq!(refused.status, 400);
}

#[tokio::test]
async fn the_cookie_is_kept_from_scripts_and_other_sites() {
    let service = Service::start().await;
    let master = service.master.clone();
    let fields = [("key", master.as_str()), ("next", "//evil.example")];
    let signed_in = sign_in(&service, &fields).await;
    let cookie = signed_in.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!(signed_in.headers[header::LOCATION], "/");

    let elsewhere = Request::post("/sign-in")
        .header("sec-fetch-site", "cross-site")
        .body(format!("key={master}").into());
    assert_eq!(service.send(elsewhere.unwrap()).await.status, 403);
}

#[tokio::test]
async fn only_the_page_of_this_browser_signs_in() {
    let service = Service::start().await;
    let master = service.master.clone();
    // A form of another site has neither the token nor the cookie; its own token does not help.
    let own = "a".repeat(64);
    let cookie = format!("reflect_sign_in={}", "b".repeat(64));
    for (cookie, token) in [
        ("", ""),
        ("", own.as_str()),
        (cookie.as_str(), own.as_str()),
    ] {
        let fields = [("key", master.as_str()), ("token", token)];
        let refused = post(&service, "/sign-in", cookie, &fields).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert!(cookie_of(&refused).starts_with("reflect_sign_in="));
    }
}

#[tokio::test]
async fn every_change_needs_the_token_and_a_scope() {
    let service = Service::start().await;
    let trace = service.trace("Refund order 7").await;
    let review = json!({"result": "pass"});
    service
        .post(&at(&format!("/traces/{trace}/review")), review)
        .await;
    let memory = service.get(&at("/memories")).await.body[0]["id"].clone();
    let memory = memory.as_str().unwrap();
    let forged = Browser {
        csrf: "guess".to_owned(),
        ..Browser::sign_in(&service, &service.master.clone()).await
    };
    let reader = service
        .key(PROJECT, &[Scope::TraceRead, Scope::MemoryRead])
        .await;
    let reader = Browser::sign_in(&service, &reader).await;
    let key = service.get(&at("/api-keys")).await.body[0]["id"].clone();
    let key = key.as_str().unwrap();
    let before = service.get(&at(&format!("/memories/{memory}"))).await.body;
    for page in [
        format!("review/{trace}"),
        format!("review/{trace}/undo"),
        format!("memories/{memory}/edit"),
        format!("memories/{memory}/status"),
        format!("memories/{memory}/merge"),
        format!("memories/{memory}/delete"),
        "keys".to_owned(),
        format!("keys/{key}/revoke"),
        "undo".to_owned(),
        "settings".to_owned(),
    ] {
        let path = format!("/p/{PROJECT}/{page}");
        let fields = [("verdict", "fail"), ("action", "quarantine")];
        assert_eq!(forged.post(&path, &fields).await.status, 403, "{page}");
        assert_eq!(reader.post(&path, &fields).await.status, 403, "{page}");
        let stranger = post(&service, &path, "", &fields).await;
        assert_eq!(stranger.status, 303, "{page}");
        let asked = &stranger.headers[header::LOCATION];
        assert_eq!(asked, "/sign-in?next=%2F&unsaved=1");
    }
    let after = service.get(&at(&format!("/memories/{memory}"))).await.body;
    assert_eq!(before, after);
}

#[tokio::test]
async fn signing_out_ends_the_session_and_needs_the_token() {
    let service = Service::start().await;
    service.trace("t").await;
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    let forged = post(&service, "/sign-out", &browser.cookie, &[("csrf", "guess")]).await;
    assert_eq!(forged.status, 403);
    let start = async || browser.get("/").await.headers[header::LOCATION].clone();
    // A server with one project begins with it.
    assert_eq!(start().await, format!("/p/{PROJECT}/review"));
    let out = browser.post("/sign-out", &[]).await;
    assert_eq!(out.status, 303);
    assert_eq!(start().await, "/sign-in?next=%2F");
}

#[tokio::test]
async fn a_session_sees_its_project_and_scopes_only() {
    let service = Service::start().await;
    let id = service.trace("Refund order 7").await;
    let other = service.key("other", &[Scope::TraceRead]).await;
    let cookie = &cookie_of(&sign_in(&service, &[("key", &other)]).await);
    for path in [
        "traces".to_owned(),
        format!("traces/{id}"),
        format!("traces/{id}/json"),
    ] {
        let request = Request::get(format!("/p/{PROJECT}/{path}")).header(header::COOKIE, cookie);
        let refused = service.send(request.body("".into()).unwrap()).await;
        assert_eq!(refused.status, 403, "{path}");
    }
    let review = at(&format!("/traces/{id}/review"));
    service.post(&review, json!({"result": "pass"})).await;
    let reader = service.key(PROJECT, &[Scope::TraceRead]).await;
    let reader = Browser::sign_in(&service, &reader).await;
    let page = reader.page(&format!("/p/{PROJECT}/traces/{id}")).await;
    assert!(page.contains("Your key may not read it"), "{page}");
    let admin = service.key("other", &[Scope::KeyAdmin]).await;
    let cookie = &cookie_of(&sign_in(&service, &[("key", &admin)]).await);
    let request = Request::get("/p/other/traces").header(header::COOKIE, cookie);
    let refused = service.send(request.body("".into()).unwrap()).await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.as_str().unwrap().contains("trace:read"));
}
