//! The console: sessions, CSRF, scopes, pages and their headers.

use axum::http::{Method, Request, header};
use reflect_types::Scope;
use serde_json::json;

use crate::support::{Answer, PROJECT, Service, at};

/// A browser's session.
pub(crate) struct Browser<'a> {
    service: &'a Service,
    cookie: String,
    pub(crate) csrf: String,
}

impl<'a> Browser<'a> {
    pub(crate) async fn sign_in(service: &'a Service, key: &str) -> Self {
        let signed_in = post(service, "/sign-in", "", &[("key", key)]).await;
        assert_eq!(signed_in.status, 303, "{signed_in:?}");
        let cookie = signed_in.headers[header::SET_COOKIE].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        let unknown = Self {
            service,
            cookie,
            csrf: String::new(),
        };
        let page = unknown.page(&format!("/p/{PROJECT}/traces")).await;
        let (_, rest) = page.split_once("name=\"csrf\" value=\"").unwrap();
        let csrf = rest.split('"').next().unwrap().to_owned();
        Self { csrf, ..unknown }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let request = Request::get(path).header(header::COOKIE, &self.cookie);
        self.service.send(request.body("".into()).unwrap()).await
    }

    /// The HTML of a page.
    pub(crate) async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.body.as_str().unwrap().to_owned()
    }

    /// Sends a form with the session's token.
    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = [("csrf", self.csrf.as_str())];
        post(
            self.service,
            path,
            &self.cookie,
            &[&csrf[..], fields].concat(),
        )
        .await
    }
}

async fn post(service: &Service, path: &str, cookie: &str, fields: &[(&str, &str)]) -> Answer {
    let body = url::form_urlencoded::Serializer::new(String::new())
        .extend_pairs(fields)
        .finish();
    let request = Request::post(path)
        .header(header::COOKIE, cookie)
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    service.send(request.body(body.into()).unwrap()).await
}

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
}

#[tokio::test]
async fn a_wrong_key_is_refused_with_the_reason() {
    let service = Service::start().await;
    let refused = post(&service, "/sign-in", "", &[("key", "rf_live_no")]).await;
    assert_eq!(refused.status, 401);
    assert!(
        refused
            .body
            .as_str()
            .unwrap()
            .contains("unknown or revoked")
    );
    assert!(!refused.headers.contains_key(header::SET_COOKIE));
}

#[tokio::test]
async fn the_cookie_is_kept_from_scripts_and_other_sites() {
    let service = Service::start().await;
    let master = service.master.clone();
    let signed_in = post(
        &service,
        "/sign-in",
        "",
        &[("key", &master), ("next", "//evil.example")],
    )
    .await;
    let cookie = signed_in.headers[header::SET_COOKIE].to_str().unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!(signed_in.headers[header::LOCATION], "/");

    let elsewhere = Request::post("/sign-in")
        .header("sec-fetch-site", "cross-site")
        .body(format!("key={master}").into());
    assert_eq!(service.send(elsewhere.unwrap()).await.status, 403);
}

#[tokio::test]
async fn signing_out_ends_the_session_and_needs_the_token() {
    let service = Service::start().await;
    service.trace("t").await;
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    let forged = post(&service, "/sign-out", &browser.cookie, &[("csrf", "guess")]).await;
    assert_eq!(forged.status, 403);
    browser.page("/").await;
    let out = browser.post("/sign-out", &[]).await;
    assert_eq!(out.status, 303);
    assert_eq!(browser.get("/").await.status, 303);
}

#[tokio::test]
async fn a_session_sees_its_project_and_scopes_only() {
    let service = Service::start().await;
    let id = service.trace("Refund order 7").await;
    let other = service.key("other", &[Scope::TraceRead]).await;
    let signed_in = post(&service, "/sign-in", "", &[("key", &other)]).await;
    let cookie = signed_in.headers[header::SET_COOKIE].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap();
    for path in [
        "traces".to_owned(),
        format!("traces/{id}"),
        format!("traces/{id}/json"),
    ] {
        let request = Request::get(format!("/p/{PROJECT}/{path}")).header(header::COOKIE, cookie);
        let refused = service.send(request.body("".into()).unwrap()).await;
        assert_eq!(refused.status, 403, "{path}");
    }
    let writer = service.key("other", &[Scope::TraceWrite]).await;
    let signed_in = post(&service, "/sign-in", "", &[("key", &writer)]).await;
    let cookie = signed_in.headers[header::SET_COOKIE].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let request = Request::get("/p/other/traces").header(header::COOKIE, cookie);
    let refused = service.send(request.body("".into()).unwrap()).await;
    assert_eq!(refused.status, 403);
    assert!(refused.body.as_str().unwrap().contains("trace:read"));
}

#[tokio::test]
async fn a_hostile_trace_is_shown_as_text() {
    let service = Service::start().await;
    let hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u{202e}txet\u{1b}[31m";
    let body = json!({
        "task": hostile, "model": hostile, "metadata": {"x": hostile},
        "trajectory": [
            {"role": hostile, "content": hostile},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": hostile, "function": {"name": hostile, "arguments": {"a": hostile}}}]},
            {"role": "tool", "name": hostile, "content": format!("Error: {hostile}")}
        ],
        "review": {"result": "fail", "feedback_text": hostile}
    });
    let stored = service.post(&at("/traces"), body).await;
    let id = stored.body["trace_id"].as_str().unwrap();
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    for path in [
        "traces".to_owned(),
        format!("traces/{id}"),
        format!("traces/{id}/raw"),
    ] {
        let answer = browser.get(&format!("/p/{PROJECT}/{path}")).await;
        let page = answer.body.as_str().unwrap();
        assert!(page.contains("alert(1)"), "{path}: {page}");
        for raw in ["<script>alert", "<img src=x", "\u{202e}", "\u{1b}"] {
            assert!(!page.contains(raw), "{path} has {raw:?}: {page}");
        }
        let policy = answer.headers[header::CONTENT_SECURITY_POLICY]
            .to_str()
            .unwrap();
        assert!(
            policy.contains("default-src 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
    }
}

#[tokio::test]
async fn an_empty_project_shows_how_to_send_a_first_trace() {
    let service = Service::start().await;
    let key = service.key(PROJECT, &[Scope::TraceRead]).await;
    let browser = Browser::sign_in(&service, &key).await;
    let request = Request::get(format!("/p/{PROJECT}/traces"))
        .header(header::COOKIE, &browser.cookie)
        .header(header::HOST, "reflect.example:8000");
    let page = service.send(request.body("".into()).unwrap()).await;
    let page = page.body.as_str().unwrap();
    assert!(page.contains("http://reflect.example:8000"), "{page}");
    assert!(page.contains("client.create_trace("), "{page}");
}

#[tokio::test]
async fn traces_are_found_by_words_state_and_model() {
    let service = Service::start().await;
    for (task, model, result) in [
        ("Refund order 7", "gpt", Some("fail")),
        ("Refunds for everybody", "claude", Some("pass")),
        ("Change a flight", "gpt", None),
    ] {
        let mut body = json!({
            "task": task, "model": model, "trajectory": [{"role": "assistant", "content": "x"}]
        });
        if let Some(result) = result {
            body["review"] =
                json!({"result": result, "reflection": {"summary": "s", "guidance": "g"}});
        }
        service.post(&at("/traces"), body).await;
    }
    let browser = Browser::sign_in(&service, &service.master.clone()).await;
    let tasks = ["Refund order 7", "Refunds for everybody", "Change a flight"];
    for (query, expected) in [
        ("", [true, true, true]),
        ("q=refund", [true, true, false]),
        ("q=ORDER+refu", [true, false, false]),
        ("q=%22*)", [true, true, true]),
        ("state=waiting", [false, false, true]),
        ("state=passed", [false, true, false]),
        ("state=failed&model=gpt", [true, false, false]),
        ("model=gpt", [true, false, true]),
        ("q=flight&state=failed", [false, false, false]),
    ] {
        let page = browser.page(&format!("/p/{PROJECT}/traces?{query}")).await;
        assert_eq!(
            tasks.map(|task| page.contains(&format!(">{task}</a>"))),
            expected,
            "{query}"
        );
    }
}

#[tokio::test]
async fn files_of_the_console_may_be_cached_and_others_are_not_found() {
    let service = Service::start().await;
    let style = service
        .call_as(None, Method::GET, "/assets/console.css?v=1", None)
        .await;
    assert_eq!(style.status, 200);
    assert!(
        style.headers[header::CACHE_CONTROL]
            .to_str()
            .unwrap()
            .contains("immutable")
    );
    let none = service
        .call_as(None, Method::GET, "/assets/..%2FCargo.toml", None)
        .await;
    assert_eq!(none.status, 404);
}

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

    let undone = browser.post(&format!("{path}/undo"), &[]).await;
    assert_eq!(undone.status, 303, "{undone:?}");
    assert_eq!(utility().await, before);
    let others = browser
        .post(&format!("/p/{PROJECT}/review/{first}/undo"), &[])
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
    let undone = browser.post(&format!("{path}/undo"), &[]).await;
    assert_eq!(undone.status, 303, "{undone:?}");
    assert_eq!(verdict().await, "fail");
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
        ("guidance", "Ask for a card first."),
        ("summary", ""),
        ("note", "clearer"),
    ];
    assert_eq!(
        browser.post(&format!("{path}/edit"), &fields).await.status,
        303
    );
    let page = browser.page(&path).await;
    assert!(
        page.contains("Ask for a card first.") && page.contains("clearer"),
        "{page}"
    );
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
    assert_eq!(browser.post(&path, &[("max_alpha", "7")]).await.status, 422);
}
