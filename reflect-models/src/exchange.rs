//! One request to the model's server, and the wording of its failures.

use reflect_http::{NoReply, NoReplyKind, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::Shared;
use crate::error::{Error, Result};

impl Shared {
    /// Posts a body and reads the reply, once.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T> {
        let reply = self.http.post(path).json(body).reply().await;
        reply.map_err(|error| match error {
            reflect_http::Error::Refused(refusal) => Error::Refused {
                status: refusal.status(),
                message: self.message(&refusal),
                retry_after: refusal.retry_after(),
            },
            reflect_http::Error::NoReply(no_reply) => self.no_reply(&no_reply),
            reflect_http::Error::NotJson {
                problem, excerpt, ..
            } => Error::Malformed(format!("{problem}, in `{excerpt}`")),
            other => Error::Malformed(other.to_string()),
        })
    }

    /// An excerpt of text from the server, on one line and without the key.
    pub(crate) fn quote(&self, text: &str) -> String {
        format!("`{}`", self.http.redactor().excerpt(text.as_bytes()))
    }

    fn no_reply(&self, no_reply: &NoReply) -> Error {
        match no_reply.kind() {
            NoReplyKind::Timeout => Error::Timeout(self.settings.timeout),
            _ => Error::Unreachable(no_reply.reason()),
        }
    }

    fn message(&self, refusal: &Refusal) -> String {
        let quote = |text: &str| self.quote(text);
        let stated = refusal.json().and_then(|body| stated(&body, quote));
        stated.unwrap_or_else(|| format!("`{}`", refusal.excerpt()))
    }
}

/// The message of an error's body, in the forms that servers use.
fn stated(body: &Value, quote: impl Fn(&str) -> String) -> Option<String> {
    let error = body.get("error").unwrap_or(body);
    let message = error.get("message").unwrap_or(error).as_str()?;
    let code = ["code", "type"]
        .iter()
        .find_map(|name| error.get(name).and_then(Value::as_str));
    Some(match code {
        Some(code) => format!("{} ({code})", quote(message)),
        None => quote(message),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_message_of_a_server_is_found_in_every_form() {
        for (body, message) in [
            (
                json!({"error": {"message": "no", "type": "t", "code": null}}),
                Some("no (t)"),
            ),
            (json!({"error": "model not found"}), Some("model not found")),
            (json!({"message": "no"}), Some("no")),
            (json!({"error": {"message": 7}}), None),
            (json!([1]), None),
        ] {
            let found = stated(&body, str::to_owned);
            assert_eq!(found.as_deref(), message, "{body}");
        }
    }
}
