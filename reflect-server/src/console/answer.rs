//! Replies of the console: pages with their security headers, and errors as pages.

use askama::Template;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use reflect_console::{ProblemPage, ProblemPart};

use super::visit::is_by_script;
use crate::error::{ApiError, ErrorDetail};
use crate::reply::ReplySlot;

/// Nothing but the console's own files, and no inline script or style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const HX_REDIRECT: HeaderName = HeaderName::from_static("hx-redirect");

/// An error of a console's handler.
#[derive(Debug)]
pub(super) enum Problem {
    /// A refusal, which [`refusals`] shows.
    Refused(ApiError),
    /// The visitor has to sign in, and goes on at this address.
    SignedOut {
        next: String,
        /// Whether a script asked.
        by_script: bool,
        /// Whether a change was not made.
        lost_change: bool,
    },
}

impl<E: Into<ApiError>> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::Refused(error.into())
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        match self {
            Self::Refused(error) => error.into_response(),
            Self::SignedOut {
                next,
                by_script,
                lost_change,
            } => {
                let next: String =
                    serde_urlencoded::to_string([("next", next)]).unwrap_or_default();
                let lost = if lost_change { "&unsaved=1" } else { "" };
                let address = format!("/sign-in?{next}{lost}");
                if by_script {
                    let header = HeaderValue::from_str(&address);
                    let header = header.unwrap_or(HeaderValue::from_static("/sign-in"));
                    return (StatusCode::OK, [(HX_REDIRECT, header)]).into_response();
                }
                redirect(&address)
            }
        }
    }
}

/// Shows refusals in the form that was asked for: a page, or a part of one that a script replaces.
pub(super) async fn refusals(request: Request, next: Next) -> Response {
    let by_script = is_by_script(request.headers());
    let mut response = next.run(request).await;
    let status = response.status();
    match response.extensions_mut().remove() {
        Some(ErrorDetail(detail)) if by_script => html(status, &ProblemPart { detail }),
        Some(ErrorDetail(detail)) => {
            let page = ProblemPage {
                status: status.as_u16(),
                detail,
            };
            html(status, &page)
        }
        None => response,
    }
}

/// A page.
pub(super) fn page(template: &impl Template) -> Response {
    html(StatusCode::OK, template)
}

/// A page that may be long: it keeps its slot until it is sent.
pub(super) fn long_page(slot: ReplySlot, template: &impl Template) -> Response {
    answer(StatusCode::OK, template, |text| slot.body(text))
}

/// Another address, to be read.
pub(super) fn redirect(address: &str) -> Response {
    let address = HeaderValue::from_str(address).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, address)]).into_response()
}

pub(super) fn html(status: StatusCode, template: &impl Template) -> Response {
    answer(status, template, Body::from)
}

fn answer(
    status: StatusCode,
    template: &impl Template,
    body: impl FnOnce(String) -> Body,
) -> Response {
    match reflect_console::html(template) {
        Ok(text) => protected(
            (status, body(text)).into_response(),
            "text/html; charset=utf-8",
        ),
        Err(error) => ApiError::internal(error).into_response(),
    }
}

/// The reply with the headers of everything that a visitor's session shows.
pub(super) fn protected(mut response: Response, media_type: &'static str) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, media_type),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
