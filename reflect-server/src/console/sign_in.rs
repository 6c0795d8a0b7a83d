//! Signing in and out.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use reflect_console::{FirstTrace, ProjectsPage, SignInPage, in_project};
use reflect_types::Scope;

use super::answer::{Problem, html, page as shown, redirect};
use super::cookie::{cookie, form_cookie, session_cookie, set_cookie};
use super::form::{Fields, MAX_FORM, MAX_SIGN_IN, refuse_other_sites};
use super::visit::{Visit, Visitor, base_url, check_csrf, token};
use crate::app::App;
use crate::error::ApiError;
use crate::keys::Caller;
use crate::sessions::random;
use crate::{access, extract};

/// A key needs one of them to see a page.
const SEEING: [Scope; 4] = [
    Scope::TraceRead,
    Scope::MemoryRead,
    Scope::KeyAdmin,
    Scope::ProjectAdmin,
];

/// The start: the visitor's project, or the projects of a master key.
pub(super) async fn start(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
    visitor: Visitor,
) -> Result<Response, Problem> {
    if let Some(project) = visitor.caller.project() {
        return Ok(redirect(&in_project(
            project.as_str(),
            &[first_page(&visitor.caller)],
        )));
    }
    let projects = app.engine().summarize_projects(None).await?;
    if let [only] = projects.as_slice()
        && uri.query().is_none()
    {
        let page = first_page(&visitor.caller);
        return Ok(redirect(&in_project(only.project_id.as_str(), &[page])));
    }
    let first = FirstTrace {
        base_url: base_url(&headers, &app),
        project: "support".to_owned(),
        makes_keys: true,
    };
    Ok(shown(&ProjectsPage::new(
        visitor.session.csrf,
        &projects,
        first,
    )))
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
        (false, _) if may(Scope::ProjectAdmin) => "settings",
        _ => "traces",
    }
}

/// The page that asks for a key.
pub(super) async fn page(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let query = request.uri().query().unwrap_or_default();
    let query = Fields::parse(query.as_bytes())?;
    let problem = (query.get("unsaved") == "1").then(|| {
        "you were signed out, so the last change was not made. What you wrote in a review is kept by this browser"
            .to_owned()
    });
    let next = query.text("next");
    ask(StatusCode::OK, problem, next, request.headers(), &app)
}

/// Signs in with a link, which is used up.
pub(super) async fn once(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    // A program that looks where a link leads must not use it up.
    if request.method() == Method::HEAD {
        return Ok(StatusCode::OK.into_response());
    }
    let query = request.uri().query().unwrap_or_default();
    let token = Fields::parse(query.as_bytes())?.text("token");
    let headers = request.headers();
    let Some(key_name) = app.sessions().use_link(&token) else {
        if super::visit::token(headers).is_some_and(|token| app.sessions().find(token).is_some()) {
            return Ok(redirect("/"));
        }
        let problem = "this link was used already or is too old: sign in with a key";
        let (problem, next) = (Some(problem.to_owned()), String::new());
        return ask(StatusCode::UNAUTHORIZED, problem, next, headers, &app);
    };
    begin(&key_name, "/", headers, &app)
}

/// Signs in with a key.
pub(super) async fn sign_in(State(app): State<App>, request: Request) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let headers = &parts.headers;
    refuse_other_sites(headers)?;
    let request = Request::from_parts(parts.clone(), body);
    let body = extract::read_up_to(MAX_SIGN_IN, request, &app).await?;
    let form = Fields::parse(&body)?;
    let next = form.text("next");
    let signed_in = match check_form(&form, headers) {
        Ok(()) => access::authenticate(form.get("key").trim(), &parts, &app).await,
        Err(error) => Err(error),
    };
    let admitted = signed_in.and_then(|caller| {
        app.rate().admit(caller.name())?;
        if SEEING.iter().any(|scope| caller.may(scope)) {
            return Ok(caller);
        }
        Err(ApiError::missing_scope(&SEEING))
    });
    match admitted {
        Ok(caller) => begin(caller.name(), local(&next), headers, &app),
        Err(error) => {
            error.log();
            let problem = Some(error.detail().to_owned());
            ask(error.status(), problem, next, headers, &app)
        }
    }
}

/// The page that asks for a key. Its form and a cookie have the same token: the form of another site, which could sign
/// a visitor in with a key of its own, is sent without the cookie.
fn ask(
    status: StatusCode,
    problem: Option<String>,
    next: String,
    headers: &HeaderMap,
    app: &App,
) -> Result<Response, Problem> {
    let name = form_cookie(headers);
    let known = cookie(headers, &name).filter(|token| is_token(token));
    let token = match known {
        Some(token) => token.to_owned(),
        None => random().map_err(ApiError::internal)?,
    };
    let page = SignInPage {
        problem,
        next,
        token: token.clone(),
    };
    let mut response = html(status, &page);
    set_cookie(&mut response, &name, &token, headers, app);
    Ok(response)
}

/// Refuses a form that is not of the page that this browser was shown.
fn check_form(form: &Fields, headers: &HeaderMap) -> Result<(), ApiError> {
    let token = form.get("token");
    if is_token(token) && cookie(headers, &form_cookie(headers)) == Some(token) {
        return Ok(());
    }
    Err(ApiError::forbidden(
        "the browser sent no cookie with this form: allow cookies of this site, and sign in again",
    ))
}

/// Whether a text could be a token of this server.
fn is_token(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Starts a session and goes on at an address.
fn begin(key_name: &str, next: &str, headers: &HeaderMap, app: &App) -> Result<Response, Problem> {
    if let Some(earlier) = token(headers) {
        app.sessions().end(earlier);
    }
    let token = app.sessions().start(key_name).map_err(ApiError::internal)?;
    let mut response = redirect(next);
    set_cookie(
        &mut response,
        &session_cookie(headers),
        &token,
        headers,
        app,
    );
    Ok(response)
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
    set_cookie(&mut response, &session_cookie(&headers), "", &headers, &app);
    Ok(response)
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
