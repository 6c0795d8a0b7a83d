//! The fields of a form.

use axum::http::HeaderMap;

use crate::error::ApiError;

/// The largest form, in bytes.
pub(super) const MAX_FORM: usize = 1024 * 1024;
/// The largest form of a visitor who has not signed in: a key and an address.
pub(super) const MAX_SIGN_IN: usize = 16 * 1024;
/// The most fields of a form.
const MAX_FIELDS: usize = 100;

/// The fields of a form or of a query string, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) fn parse(text: &[u8]) -> Result<Self, ApiError> {
        if text.split(|byte| *byte == b'&').nth(MAX_FIELDS).is_some() {
            return Err(ApiError::malformed("the form has too many fields"));
        }
        let fields: Result<Vec<(String, String)>, _> = serde_urlencoded::from_bytes(text);
        let mut fields = fields
            .map_err(|error| ApiError::malformed(format!("the form cannot be read: {error}")))?;
        for (_, value) in &mut fields {
            // Browsers end each line of a text with both.
            if value.contains("\r\n") {
                *value = value.replace("\r\n", "\n");
            }
        }
        Ok(Self(fields))
    }

    /// The first value of a field, or `""`.
    pub(super) fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map_or("", |(_, value)| value.as_str())
    }

    /// Whether the form has a field, empty or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(field, _)| field == name)
    }

    /// All values of a field.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self.0.iter().filter(move |(field, _)| field == name);
        fields.map(|(_, value)| value.as_str())
    }

    /// The first value of a field, or `""`.
    pub(super) fn text(&self, name: &str) -> String {
        self.get(name).to_owned()
    }
}

/// Refuses a form that another site has sent. Browsers say so, except very old ones.
pub(super) fn refuse_other_sites(headers: &HeaderMap) -> Result<(), ApiError> {
    let site = headers.get("sec-fetch-site");
    let is_other = site.is_some_and(|site| site == "cross-site" || site == "same-site");
    if is_other {
        return Err(ApiError::forbidden(
            "this form was sent by another site: open the console and try again",
        ));
    }
    Ok(())
}
