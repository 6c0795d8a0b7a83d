//! A request of a signed-in browser.

use std::collections::HashMap;

use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Uri};
use reflect_console::{Abilities, FirstTrace, Frame};
use reflect_engine::Engine;
use reflect_engine::store::TraceSearch;
use reflect_types::{
    ApiKey, CreateApiKey, ListApiKeys, ListMemories, ListTraces, Operation, ProjectId, ReviewTrace,
    Scope, Undo, UpdateMemory,
};

use super::answer::Problem;
use super::cookie::{cookie, is_secure, session_cookie};
use super::form::{Fields, MAX_FORM, refuse_other_sites};
use crate::access;
use crate::app::App;
use crate::error::ApiError;
use crate::extract;
use crate::keys::Caller;
use crate::reply::ReplySlot;
use crate::sessions::Session;

const CSRF_HEADER: &str = "x-csrf-token";

/// A signed-in visitor.
#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) caller: Caller,
    pub(super) session: Session,
}

impl FromRequestParts<App> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let session = token(&parts.headers).and_then(|token| app.sessions().find(token));
        let caller = match &session {
            Some(session) => app.keys().holder(&session.key_name).await?,
            None => None,
        };
        let (Some(session), Some(caller)) = (session, caller) else {
            return Err(Problem::SignedOut {
                next: next(parts),
                by_script: is_by_script(&parts.headers),
                lost_change: parts.method != Method::GET && parts.uri.path() != "/sign-out",
            });
        };
        tracing::Span::current().record("key", caller.name());
        app.rate().admit(caller.name())?;
        Ok(Self { caller, session })
    }
}

/// A visit of a project.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) app: App,
    pub(super) project: ProjectId,
    pub(super) caller: Caller,
    session: Session,
    segments: HashMap<String, String>,
    /// The parameters of the address.
    pub(super) query: Fields,
    base_url: String,
}

impl FromRequestParts<App> for Visit {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Visitor { caller, session } = Visitor::from_request_parts(parts, app).await?;
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, app).await;
        let Path(segments) = path.map_err(ApiError::from)?;
        let project = segments.get("project_id").map_or("", String::as_str);
        let project = ProjectId::new(project);
        if !caller.opens(&project) {
            return Err(ApiError::other_project(&project).into());
        }
        Ok(Self {
            query: Fields::parse(parts.uri.query().unwrap_or_default().as_bytes())?,
            base_url: base_url(&parts.headers, app),
            app: app.clone(),
            project,
            caller,
            session,
            segments,
        })
    }
}

impl Visit {
    /// Refuses a visitor whose key may not call the operation.
    pub(super) fn require<O: Operation>(&self) -> Result<(), Problem> {
        if self.may::<O>() {
            return Ok(());
        }
        Err(ApiError::missing_scope(O::SCOPES).into())
    }

    /// Whether the visitor's key may call the operation.
    pub(super) fn may<O: Operation>(&self) -> bool {
        O::SCOPES.iter().any(|scope| self.caller.may(scope))
    }

    /// The engine with the visitor's rights.
    pub(super) fn engine(&self) -> Engine {
        access::engine(&self.caller, &self.app)
    }

    /// A slot for a reply that may be long.
    pub(super) async fn slot(&self) -> Result<ReplySlot, ApiError> {
        self.app.replies().acquire(&self.project).await
    }

    /// A further part of the path.
    pub(super) fn segment(&self, name: &str) -> &str {
        self.segments.get(name).map_or("", String::as_str)
    }

    /// The frame of a page.
    pub(super) async fn frame(&self) -> Result<Frame, Problem> {
        let may = Abilities {
            read_traces: self.may::<ListTraces>(),
            review: self.may::<ReviewTrace>(),
            read_memories: self.may::<ListMemories>(),
            change_memories: self.may::<UpdateMemory>(),
            manage_keys: self.may::<CreateApiKey>(),
            administer: self.may::<Undo>() && self.caller.may(&Scope::ProjectAdmin),
        };
        Ok(Frame {
            project: self.project.as_str().to_owned(),
            waiting: self.app.engine().count_waiting(&self.project).await?,
            csrf: self.session.csrf.clone(),
            may,
            has_projects: self.caller.project().is_none(),
            tab: "",
        })
    }

    /// The keys of the project, for a visitor who may know them.
    pub(super) async fn keys(&self) -> Result<Vec<ApiKey>, Problem> {
        if self.may::<ListApiKeys>() {
            return Ok(self.app.keys().list(Some(&self.project)).await?);
        }
        Ok(Vec::new())
    }

    /// Whether the project has a trace.
    pub(super) async fn has_traces(&self) -> Result<bool, Problem> {
        let one = TraceSearch {
            limit: 1,
            ..TraceSearch::default()
        };
        let found = self.app.engine().browse_traces(&self.project, &one).await?;
        Ok(!found.is_empty())
    }

    /// The code of a first trace.
    pub(super) fn first_trace(&self) -> FirstTrace {
        FirstTrace {
            base_url: self.base_url.clone(),
            project: self.project.as_str().to_owned(),
            makes_keys: self.may::<CreateApiKey>(),
        }
    }
}

/// A visit that changes something: its form has the session's CSRF token.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) visit: Visit,
    pub(super) form: Fields,
}

impl FromRequest<App> for Change {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, app).await?;
        refuse_other_sites(&parts.headers)?;
        let header = parts.headers.get(CSRF_HEADER).cloned();
        let body = extract::read_up_to(MAX_FORM, Request::from_parts(parts, body), app).await?;
        let form = Fields::parse(&body)?;
        // A page that was replaced in part has the newer token in its form.
        let given = match (form.get("csrf"), &header) {
            ("", Some(header)) => header.as_bytes(),
            (field, _) => field.as_bytes(),
        };
        check_csrf(given, &visit.session)?;
        Ok(Self { visit, form })
    }
}

/// Refuses a form without the session's token.
pub(super) fn check_csrf(given: &[u8], session: &Session) -> Result<(), ApiError> {
    if subtle::ConstantTimeEq::ct_eq(given, session.csrf.as_bytes()).into() {
        return Ok(());
    }
    Err(ApiError::forbidden(
        "this page is of an earlier session: load it again and repeat the change",
    ))
}

/// The token of the session.
pub(super) fn token(headers: &HeaderMap) -> Option<&str> {
    cookie(headers, &session_cookie(headers))
}

pub(super) fn is_by_script(headers: &HeaderMap) -> bool {
    headers.contains_key("hx-request")
}

/// Where to go on after signing in: the page, and not a change or a part of it.
fn next(parts: &Parts) -> String {
    let page = match parts.method {
        _ if is_by_script(&parts.headers) => {
            let page = parts.headers.get("hx-current-url");
            let page: Option<Uri> = page.and_then(|page| page.to_str().ok()?.parse().ok());
            page.and_then(|page| page.path_and_query().map(ToString::to_string))
        }
        Method::GET => parts.uri.path_and_query().map(ToString::to_string),
        _ => None,
    };
    page.unwrap_or_else(|| "/".to_owned())
}

/// The address of the server, as the browser sees it.
pub(super) fn base_url(headers: &HeaderMap, app: &App) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let scheme = if is_secure(headers, app) {
        "https"
    } else {
        "http"
    };
    format!("{scheme}://{}", host.unwrap_or("localhost:8000"))
}
