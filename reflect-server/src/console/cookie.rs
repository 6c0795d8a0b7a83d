//! Cookies of the console.

use axum::http::header::{COOKIE, HOST, HeaderValue, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;

use crate::app::App;

/// The name of the session's cookie.
pub(super) fn session_cookie(headers: &HeaderMap) -> String {
    of_port("reflect_session", headers)
}

/// The name of the cookie that belongs to the form for signing in.
pub(super) fn form_cookie(headers: &HeaderMap) -> String {
    of_port("reflect_sign_in", headers)
}

/// Browsers share cookies among all ports of a host: two servers on one computer have different names.
fn of_port(name: &str, headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let port = host.and_then(|host| host.rsplit_once(':'));
    match port.and_then(|(_, port)| port.parse::<u16>().ok()) {
        Some(port) => format!("{name}_{port}"),
        None => name.to_owned(),
    }
}

/// The value of a cookie.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, named: &str) -> Option<&'a str> {
    let cookies = headers.get_all(COOKIE).iter();
    let cookies = cookies.filter_map(|header| header.to_str().ok());
    let mut pairs = cookies.flat_map(|header| header.split(';'));
    pairs.find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == named).then_some(value)
    })
}

/// Sets a cookie that ends with the browser, or deletes it if the value is empty.
pub(super) fn set_cookie(
    response: &mut Response,
    name: &str,
    value: &str,
    headers: &HeaderMap,
    app: &App,
) {
    let age = if value.is_empty() { "; Max-Age=0" } else { "" };
    let secure = if is_secure(headers, app) {
        "; Secure"
    } else {
        ""
    };
    let cookie = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{age}");
    match HeaderValue::from_str(&cookie) {
        Ok(cookie) => {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
        // A token is hexadecimal.
        Err(_) => *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Whether the connection of the browser is encrypted, here or at a proxy. A client that pretends so
/// harms only itself.
pub(super) fn is_secure(headers: &HeaderMap, app: &App) -> bool {
    let forwarded = headers.get("x-forwarded-proto");
    app.settings().tls.is_some() || forwarded.is_some_and(|scheme| scheme == "https")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_on_several_ports_have_different_cookies() {
        let name = |host: &'static str| {
            let headers = [(HOST, HeaderValue::from_static(host))];
            session_cookie(&HeaderMap::from_iter(headers))
        };
        assert_eq!(name("localhost:8000"), "reflect_session_8000");
        assert_eq!(name("[::1]:8001"), "reflect_session_8001");
        for host in ["reflect.example", "[::1]", "a:b", "a:99999"] {
            assert_eq!(name(host), "reflect_session", "{host}");
        }
    }
}
