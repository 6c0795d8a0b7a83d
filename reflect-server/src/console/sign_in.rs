//! Signing in and out.

use axum::extract::{Request, State};
use axum::http::header::{HeaderValue, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use reflect_console::{ProjectsPage, SignInPage, in_project};
use reflect_types::Scope;

use super::answer::{Problem, html, page as shown, redirect};
use super::form::{Fields, MAX_FORM, MAX_SIGN_IN, refuse_other_sites};
use super::visit::{COOKIE_NAME, Visit, Visitor, check_csrf, is_secure, token};
use crate::app::App;
use crate::error::ApiError;
use crate::keys::Caller;
use crate::{access, extract};

/// The start: the visitor's project, or the projects of a master key.
pub(super) async fn start(State(app): State<App>, visitor: Visitor) -> Result<Response, Problem> {
    if let Some(project) = visitor.caller.project() {
        return Ok(redirect(&in_project(
            project.as_str(),
            &[first_page(&visitor.caller)],
        )));
    }
    let projects = app.engine().summarize_projects(None).await?;
    Ok(shown(&ProjectsPage::new(visitor.session.csrf, &projects)))
}

/// The first page of a project.
pub(super) async fn project(visit: Visit) -> Response {
    redirect(&in_project(
        visit.project.as_str(),
        &[first_page(&visit.caller)],
    ))
}

/// The first page that a key may see.
fn first_page(caller: &Caller) -> &'static str {
    let may = |scope| caller.may(&scope);
    match (may(Scope::TraceRead), may(Scope::ReviewWrite)) {
        (true, true) => "review",
        (false, _) if may(Scope::MemoryRead) => "memories",
        (false, _) if may(Scope::KeyAdmin) => "keys",
        _ => "traces",
    }
}

/// The page that asks for a key.
pub(super) async fn page(request: Request) -> Result<Response, Problem> {
    let query = request.uri().query().unwrap_or_default();
    let next = Fields::parse(query.as_bytes())?.text("next");
    let problem = None;
    Ok(shown(&SignInPage { problem, next }))
}

/// Signs in with a link, which is used up.
pub(super) async fn once(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let query = request.uri().query().unwrap_or_default();
    let token = Fields::parse(query.as_bytes())?.text("token");
    let Some(key_name) = app.sessions().use_link(&token) else {
        let problem = "this link was used already or is too old: sign in with a key";
        let (problem, next) = (Some(problem.to_owned()), String::new());
        return Ok(html(
            StatusCode::UNAUTHORIZED,
            &SignInPage { problem, next },
        ));
    };
    let token = app
        .sessions()
        .start(&key_name)
        .map_err(ApiError::internal)?;
    let mut response = redirect("/");
    set_cookie(&mut response, &token, request.headers(), &app);
    Ok(response)
}

/// Signs in with a key.
pub(super) async fn sign_in(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    refuse_other_sites(&parts.headers)?;
    let request = Request::from_parts(parts.clone(), body);
    let body = extract::read_up_to(MAX_SIGN_IN, request, &app).await?;
    let form = Fields::parse(&body)?;
    let next = form.text("next");
    match access::authenticate(form.get("key").trim(), &parts, &app).await {
        Ok(caller) => {
            let token = app
                .sessions()
                .start(caller.name())
                .map_err(ApiError::internal)?;
            let mut response = redirect(local(&next));
            set_cookie(&mut response, &token, &parts.headers, &app);
            Ok(response)
        }
        Err(error) => {
            error.log();
            let problem = Some(error.detail().to_owned());
            Ok(html(error.status(), &SignInPage { problem, next }))
        }
    }
}

/// Ends the session.
pub(super) async fn sign_out(
    State(app): State<App>,
    visitor: Visitor,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    refuse_other_sites(&headers)?;
    let form = Fields::parse(&extract::read_up_to(MAX_FORM, request, &app).await?)?;
    check_csrf(form.get("csrf").as_bytes(), &visitor.session)?;
    if let Some(token) = token(&headers) {
        app.sessions().end(token);
    }
    let mut response = redirect("/sign-in");
    set_cookie(&mut response, "", &headers, &app);
    Ok(response)
}

/// Sets the cookie of a session, or deletes it if the token is empty.
fn set_cookie(response: &mut Response, token: &str, headers: &HeaderMap, app: &App) {
    let age = if token.is_empty() { "; Max-Age=0" } else { "" };
    let secure = if is_secure(headers, app) {
        "; Secure"
    } else {
        ""
    };
    let cookie = format!("{COOKIE_NAME}={token}; Path=/; HttpOnly; SameSite=Strict{secure}{age}");
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        // A token is hexadecimal.
        Err(_) => *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The address if it is one of this site: a link must not lead to another one after signing in.
fn local(next: &str) -> &str {
    let is_local = next.starts_with('/')
        && !next.starts_with("//")
        && !next.contains('\\')
        && !next.contains(char::is_control);
    if is_local { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signing_in_leads_to_no_other_site() {
        assert_eq!(local("/p/support/traces?q=a"), "/p/support/traces?q=a");
        for other in [
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "",
            "evil",
            "/\t/x",
        ] {
            assert_eq!(local(other), "/", "{other}");
        }
    }
}
