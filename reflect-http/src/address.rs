use reqwest::Url;

/// Why a base URL is refused. No text repeats the URL: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It cannot be parsed.
    #[error("is no URL ({0})")]
    NotAUrl(String),
    /// Its scheme is neither `http` nor `https`.
    #[error("must begin with http:// or https://")]
    Scheme,
    /// It holds a user name or a password, or a URL that is refused for another reason holds an `@`.
    #[error("must not hold a user or password")]
    Credentials,
    /// It has a query or a fragment.
    #[error("must end with the path, without `?` or `#`")]
    QueryOrFragment,
}

/// The base URL without a slash at its end.
pub(crate) fn base_url(text: &str) -> Result<String, AddressError> {
    let text = text.trim();
    parsed(text).map_err(|error| match error {
        // What is not understood may still hold a secret: the reason must not invite to show it.
        AddressError::NotAUrl(_) | AddressError::Scheme if text.contains('@') => {
            AddressError::Credentials
        }
        AddressError::NotAUrl(_) | AddressError::Scheme if text.contains(['?', '#']) => {
            AddressError::QueryOrFragment
        }
        error => error,
    })
}

fn parsed(text: &str) -> Result<String, AddressError> {
    let url = Url::parse(text).map_err(|error| AddressError::NotAUrl(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(AddressError::Scheme);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressError::Credentials);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(AddressError::QueryOrFragment);
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_normalised_and_loses_its_last_slash() {
        for (given, kept) in [
            ("http://localhost:8000", "http://localhost:8000"),
            (" HTTPS://Host:443/v1/ \n", "https://host/v1"),
            ("http://host/@team", "http://host/@team"),
        ] {
            assert_eq!(base_url(given).as_deref(), Ok(kept));
        }
    }

    #[test]
    fn an_address_that_cannot_work_is_refused_with_the_reason() {
        for text in ["", "nonsense", "http://"] {
            let error = base_url(text).unwrap_err();
            assert!(matches!(error, AddressError::NotAUrl(_)), "{text}: {error}");
        }
        for text in ["localhost:8000", "ftp://x"] {
            assert_eq!(base_url(text), Err(AddressError::Scheme), "{text}");
        }
        for text in ["http://x/v1?key=hush", "http://x:99999/v1#hush"] {
            assert_eq!(base_url(text), Err(AddressError::QueryOrFragment), "{text}");
        }
    }

    #[test]
    fn credentials_are_named_before_any_other_problem() {
        for text in [
            "http://me:hush@x/v1",
            "http://me@x/v1",
            "http://me:hush@x:99999/v1",
            "http:/me:hush@x:99999/v1?q",
            "me:hush@x",
        ] {
            assert_eq!(base_url(text), Err(AddressError::Credentials), "{text}");
        }
    }
}
