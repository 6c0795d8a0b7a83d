//! Secrets come from a flag, a variable, or a file, which keeps them out of process lists.

use std::path::PathBuf;

use secrecy::{ExposeSecret as _, SecretString};

use super::failure::Failure;

/// The secret itself, or what the file holds.
pub(super) fn read(
    name: &str,
    given: Option<SecretString>,
    file: Option<PathBuf>,
) -> Result<Option<SecretString>, Failure> {
    let Some(path) = file else {
        return given.map(|secret| presentable(name, secret)).transpose();
    };
    if given.is_some() {
        return Err(Failure::usage(format!(
            "give {name} or {name}-file, not both"
        )));
    }
    let shown = format!("{name}-file {}", path.display());
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::usage(format!("{shown} is empty")));
    }
    presentable(&shown, text.into()).map(Some)
}

/// Takes a flag's text as a secret. What is wrong with one is told by [`read`], which does not repeat
/// it.
pub(super) fn parse(text: &str) -> Result<SecretString, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    Ok(text.into())
}

/// Refuses a secret that no request could carry, and so none could match.
fn presentable(name: &str, secret: SecretString) -> Result<SecretString, Failure> {
    if secret.expose_secret().bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(secret);
    }
    Err(Failure::usage(format!(
        "{name} has a space or a character beyond ASCII, which no request can carry: choose another"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_no_request_could_carry_is_refused_and_not_repeated() {
        let given = |text: &str| read("--key", Some(parse(text).unwrap()), None);
        let kept = given(" rf_live_a_b\n").unwrap().unwrap();
        assert_eq!(kept.expose_secret(), "rf_live_a_b");
        for wrong in ["hush hush", "schlüssel", "hush\u{7f}", "hush\nhush"] {
            let refused = given(wrong).unwrap_err();
            assert!(refused.is_usage());
            assert!(!refused.to_string().contains("hush"), "{refused}");
        }
        assert!(parse(" \n").is_err());
    }
}
