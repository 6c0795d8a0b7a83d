//! Secrets come from a flag, a variable, or a file, which keeps them out of process lists.

use std::path::PathBuf;

use secrecy::SecretString;

use super::failure::Failure;

/// The secret itself, or what the file holds.
pub(super) fn read(
    name: &str,
    given: Option<SecretString>,
    file: Option<PathBuf>,
) -> Result<Option<SecretString>, Failure> {
    let Some(path) = file else {
        return Ok(given);
    };
    if given.is_some() {
        return Err(Failure::usage(format!(
            "give {name} or {name}-file, not both"
        )));
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::usage(format!("{name}-file {}: {error}", path.display())))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(Failure::usage(format!(
            "{name}-file {} is empty",
            path.display()
        )));
    }
    Ok(Some(text.into()))
}

/// Takes a flag's text as a secret.
pub(super) fn parse(text: &str) -> Result<SecretString, String> {
    if text.trim().is_empty() {
        return Err("is empty".to_owned());
    }
    Ok(text.into())
}
