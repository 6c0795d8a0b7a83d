use reqwest::header::HeaderValue;
use secrecy::{ExposeSecret, SecretString};

/// A header value that is not printable ASCII, such as a key copied with a line break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value has characters that no header can carry")]
#[non_exhaustive]
pub struct InvalidHeader;

pub(crate) fn plain(value: &str) -> Result<HeaderValue, InvalidHeader> {
    let printable = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let header = printable.then(|| HeaderValue::from_str(value).ok());
    header.flatten().ok_or(InvalidHeader)
}

/// A header that is marked sensitive, so that `Debug` does not show it.
pub(crate) fn secret(value: &str) -> Result<HeaderValue, InvalidHeader> {
    let mut header = plain(value)?;
    header.set_sensitive(true);
    Ok(header)
}

/// `Bearer <key>`; `None` for a blank key.
pub(crate) fn bearer(key: &SecretString) -> Option<Result<HeaderValue, InvalidHeader>> {
    let key = key.expose_secret().trim();
    (!key.is_empty()).then(|| secret(&format!("Bearer {key}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_key_is_trimmed_and_never_shown() {
        let header = bearer(&SecretString::from(" hush\n")).unwrap().unwrap();
        assert_eq!(header, "Bearer hush");
        assert!(!format!("{header:?}").contains("hush"));
    }

    #[test]
    fn a_key_that_no_header_can_carry_is_refused() {
        assert!(bearer(&SecretString::from(" \n")).is_none());
        for key in ["hu\nsh", "hüsh", "hu\tsh", "\u{7f}"] {
            let refused = bearer(&SecretString::from(format!("a{key}b")));
            assert_eq!(refused, Some(Err(InvalidHeader)), "{key:?}");
        }
    }
}
