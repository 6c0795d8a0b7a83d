//! The console: sessions, CSRF, scopes, pages and their headers.

use axum::http::{Method, Request, header};
use reflect_types::Scope;
use serde_json::json;

use crate::support::{Answer, PROJECT, Service, at};

mod export;
mod memories;
mod merged;
mod report;
mod review;
mod session;
mod settings;
mod trace;

/// A browser's session.
pub(crate) struct Browser<'a> {
    service: &'a Service,
    cookie: String,
    pub(crate) csrf: String,
}

impl<'a> Browser<'a> {
    pub(crate) async fn sign_in(service: &'a Service, key: &str) -> Self {
        let signed_in = sign_in(service, &[("key", key)]).await;
        assert_eq!(signed_in.status, 303, "{signed_in:?}");
        let cookie = cookie_of(&signed_in);
        let unknown = Self {
            service,
            cookie,
            csrf: String::new(),
        };
        let page = unknown.page(&format!("/p/{PROJECT}/traces")).await;
        let csrf = hidden_field(&page, "csrf");
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

/// Sends the form of the sign-in page with its token and these fields.
async fn sign_in(service: &Service, fields: &[(&str, &str)]) -> Answer {
    let page = service
        .send(Request::get("/sign-in").body("".into()).unwrap())
        .await;
    let token = hidden_field(page.body.as_str().unwrap(), "token");
    let fields = [&[("token", token.as_str())][..], fields].concat();
    post(service, "/sign-in", &cookie_of(&page), &fields).await
}

/// The cookie that an answer sets.
fn cookie_of(answer: &Answer) -> String {
    let cookie = answer.headers[header::SET_COOKIE].to_str().unwrap();
    cookie.split(';').next().unwrap().to_owned()
}

/// The value of a hidden field of a page.
fn hidden_field(page: &str, name: &str) -> String {
    let start = format!("name=\"{name}\" value=\"");
    let (_, rest) = page.split_once(&start).unwrap();
    rest.split('"').next().unwrap().to_owned()
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
        .header(header::HOST, "reflect.example");
    let page = service.send(request.body("".into()).unwrap()).await;
    let page = page.body.as_str().unwrap();
    assert!(page.contains("http://reflect.example"), "{page}");
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
