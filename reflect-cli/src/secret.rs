//! Secrets from a flag, an environment variable, or a file. A file stays out of process lists.

use std::path::PathBuf;

use reflect_server::keys::check_strength;
use secrecy::{ExposeSecret as _, SecretString};

use crate::command_line::{file_flag, has_flag, warn_if_typed};
use crate::failure::Failure;
use crate::permissions;

/// The secret given directly or in a file. Logs a warning if other users of the machine can see it.
pub(crate) fn read(
    name: &'static str,
    given: Option<SecretString>,
    file: Option<PathBuf>,
) -> Result<Option<SecretString>, Failure> {
    let named = file_flag(name);
    let file = match (&given, file) {
        // A flag takes precedence over a variable.
        (Some(_), Some(file)) => match (has_flag(name), has_flag(&named)) {
            (false, true) => Some(file),
            (true, false) => None,
            _ => return Err(Failure::usage(format!("use {name} or {named}, not both"))),
        },
        (_, file) => file,
    };
    let Some(path) = file else {
        warn_if_typed(name);
        return given.map(|secret| sendable(name, secret)).transpose();
    };
    let shown = format!("{named} {}", path.display());
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::usage(format!("{shown}: {error}")))?;
    permissions::warn_if_shared("the secret in", &path);
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::usage(format!("{shown} is empty")));
    }
    sendable(&shown, text.into()).map(Some)
}

/// Like [`read`], and refuses a secret that can be guessed.
pub(crate) fn read_strong(
    name: &'static str,
    given: Option<SecretString>,
    file: Option<PathBuf>,
) -> Result<Option<SecretString>, Failure> {
    let secret = read(name, given, file)?;
    if let Some(secret) = &secret {
        check_strength(secret.expose_secret())
            .map_err(|weak| Failure::usage(format!("{name} {weak}")))?;
    }
    Ok(secret)
}

/// Parses a flag's value as a secret. [`read`] does the checks whose errors must not repeat it.
pub(crate) fn parse(text: &str) -> Result<SecretString, String> {
    let text = text.trim();
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    Ok(text.into())
}

/// Rejects a secret that no HTTP header can carry.
fn sendable(name: &str, secret: SecretString) -> Result<SecretString, Failure> {
    if secret.expose_secret().bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(secret);
    }
    Err(Failure::usage(format!(
        "{name} contains a space or a non-ASCII character, which no request can carry: choose another"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_that_no_request_can_carry_is_rejected_and_not_repeated() {
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
