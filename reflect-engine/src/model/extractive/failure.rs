//! Recognises that a tool's answer is an error, and what it says.

use serde_json::{Map, Value};

use crate::model::prose::{clean, head, tail};

/// JSON beyond this size is looked at as text.
const MAX_JSON: usize = 256 * 1024;
/// Of a longer answer the beginning and the end are looked at.
const MAX_LINES: usize = 16 * 1024;

/// What went wrong, if the answer says that something did.
pub(super) fn error_in(answer: &str) -> Option<String> {
    let answer = answer.trim();
    if answer.starts_with(['{', '['])
        && answer.len() <= MAX_JSON
        && let Ok(json) = serde_json::from_str(answer)
    {
        return said(&json_error(&json)?);
    }
    if let Some(at) = answer.find("Traceback (most recent call last)") {
        // Python says what went wrong in the last line.
        return said(answer[at..].lines().rfind(|line| !line.trim().is_empty())?);
    }
    let first = answer.lines().next()?;
    if let Some(error) = first_line_error(first) {
        return said(&error);
    }
    [head(answer, MAX_LINES), tail(answer, MAX_LINES)]
        .into_iter()
        .flat_map(str::lines)
        .find_map(line_error)
        .and_then(|error| said(&error))
}

/// What an answer says that is marked as an error, in any form.
pub(super) fn error_of(answer: &str) -> String {
    error_in(answer)
        .or_else(|| said(answer))
        .unwrap_or_else(|| "an error without a message".to_owned())
}

fn said(error: &str) -> Option<String> {
    let error = clean(error);
    (!error.is_empty()).then_some(error)
}

fn json_error(json: &Value) -> Option<String> {
    let fields = json.as_object()?;
    for key in words("error errors exception error_message errorMessage err") {
        match fields.get(key) {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(Value::Bool(true)) => {
                return Some(message(fields).unwrap_or_else(|| "error".into()));
            }
            Some(value) => {
                if let Some(text) = value_message(value) {
                    return Some(text);
                }
            }
        }
    }
    let status = words("status status_code statusCode").find_map(|key| fields.get(key));
    let failed = match status {
        Some(Value::Number(code)) => code.as_u64().is_some_and(is_http_error),
        Some(Value::String(status)) => {
            words("error failed failure fail").any(|word| status.eq_ignore_ascii_case(word))
        }
        _ => false,
    };
    let is = |key: &str, flag| fields.get(key) == Some(&Value::Bool(flag));
    let flagged =
        is("success", false) || is("ok", false) || is("isError", true) || is("is_error", true);
    (failed || flagged).then(|| {
        message(fields)
            .or_else(|| status.map(|status| format!("status {status}")))
            .unwrap_or_else(|| "no success".to_owned())
    })
}

fn value_message(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.trim().is_empty()).then(|| text.clone()),
        Value::Array(list) => list.first().and_then(value_message),
        Value::Object(fields) if fields.is_empty() => None,
        Value::Object(fields) => Some(message(fields).unwrap_or_else(|| value.to_string())),
        Value::Number(code) if code.as_u64() == Some(0) => None,
        other => Some(other.to_string()),
    }
}

fn message(fields: &Map<String, Value>) -> Option<String> {
    words("message detail msg reason description content type")
        .find_map(|key| fields.get(key)?.as_str())
        .map(str::to_owned)
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(' ')
}

/// What only the first line of an answer can say: inside a document it would mean something else.
fn first_line_error(line: &str) -> Option<String> {
    const OPENINGS: &str = "could not |cannot |can't |unable to |failed to |failed:|failure|no such \
        |not found|invalid |permission denied|access denied|unauthorized|forbidden|timed out|timeout\
        |exception|fatal|tool error|nothing happens";
    const HTTP_WORDS: &str = "bad unauthorized forbidden not method conflict gone payload \
        unprocessable too client internal service gateway server";
    let lower = head(line, 200).to_lowercase();
    let opens = OPENINGS
        .split('|')
        .any(|opening| lower.starts_with(opening));
    let mut first = lower.split([' ', ':', '/']).filter(|word| !word.is_empty());
    let http = match (first.next(), first.next(), first.next()) {
        (Some("http"), Some(code), next) => is_code(code) || next.is_some_and(is_code),
        (Some(code), Some(next), _) => is_code(code) && words(HTTP_WORDS).any(|word| word == next),
        _ => false,
    };
    let status = lower
        .split_once("status code")
        .and_then(|(_, code)| code.trim_start_matches([':', ' ', '=']).get(..3))
        .is_some_and(is_code);
    (opens || http || status)
        .then(|| line.to_owned())
        .or_else(|| line_error(line))
}

/// A line that announces an error in any kind of output: `Error: …`, `ValueError: …`,
/// `error[E0382]: …`, `thread 'main' panicked at …`, `sh: x: command not found`.
fn line_error(line: &str) -> Option<String> {
    const ENDINGS: &str = "command not found|No such file or directory|Permission denied";
    let line = line.trim();
    if line.starts_with("thread '") && line.contains("panicked at")
        || ENDINGS.split('|').any(|ending| line.ends_with(ending))
    {
        return Some(line.to_owned());
    }
    let (kind, rest) = line.split_once(':')?;
    let (kind, rest) = (kind.trim(), rest.trim_start());
    if kind.len() > 80 || kind.contains(' ') || rest.is_empty() {
        return None;
    }
    if kind.eq_ignore_ascii_case("error") || kind.eq_ignore_ascii_case("fatal") {
        return Some(rest.to_owned());
    }
    let named =
        kind.ends_with("Error") || kind.ends_with("Exception") || kind.starts_with("error[");
    named.then(|| line.to_owned())
}

fn is_http_error(code: u64) -> bool {
    (400..600).contains(&code)
}

fn is_code(word: &str) -> bool {
    word.len() == 3 && word.parse().is_ok_and(is_http_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_recognised_in_every_common_form() {
        for (answer, error) in [
            (
                "Error: gift card balance is not enough",
                "gift card balance is not enough",
            ),
            ("ERROR: x", "x"),
            (r#"{"error": "no such order"}"#, "no such order"),
            (r#"{"error": {"message": "quota", "code": 7}}"#, "quota"),
            (r#"{"error": true, "message": "off"}"#, "off"),
            (r#"{"errors": [{"detail": "bad id"}]}"#, "bad id"),
            (r#"{"success": false, "reason": "locked"}"#, "locked"),
            (r#"{"status": 404, "detail": "no page"}"#, "no page"),
            (r#"{"status": "error"}"#, "status \"error\""),
            (r#"{"isError": true}"#, "no success"),
            (
                "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 'x'\n",
                "KeyError: 'x'",
            ),
            (
                "compiling\nerror[E0382]: borrow of moved value: `a`\n --> x.rs",
                "error[E0382]: borrow of moved value: `a`",
            ),
            (
                "java.lang.NullPointerException: oops",
                "java.lang.NullPointerException: oops",
            ),
            (
                "HTTP/1.1 503 Service Unavailable\n\n<html>",
                "HTTP/1.1 503 Service Unavailable",
            ),
            ("404 Not Found", "404 Not Found"),
            (
                "request failed with status code 429",
                "request failed with status code 429",
            ),
            ("sh: jq: command not found", "sh: jq: command not found"),
            (
                "Could not find [Arthur]. Similar: […]",
                "Could not find [Arthur]. Similar: […]",
            ),
            (
                "thread 'main' panicked at src/main.rs:2:1",
                "thread 'main' panicked at src/main.rs:2:1",
            ),
        ] {
            assert_eq!(error_in(answer).as_deref(), Some(error), "{answer:?}");
        }
    }

    #[test]
    fn ordinary_answers_are_not_errors() {
        for answer in [
            "",
            "  ",
            "[]",
            "{}",
            "42",
            "404 rooms",
            "Transfer successful",
            r#"{"error": null, "rows": 3}"#,
            r#"{"error": "", "errors": []}"#,
            r#"{"status": "delayed", "code": 404}"#,
            r#"{"status": 200}"#,
            r#"[{"error_rate": 0.1}]"#,
            "The error of the estimate is small: 3",
            "Errors are described in chapter 4.",
        ] {
            assert_eq!(error_in(answer), None, "{answer:?}");
        }
    }

    #[test]
    fn an_answer_marked_as_an_error_is_one_even_without_words() {
        assert_eq!(error_of("quota used up"), "quota used up");
        assert_eq!(error_of(" \u{0} "), "an error without a message");
    }
}
