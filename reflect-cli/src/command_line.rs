//! The arguments of the process, as they were typed.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Whether the flag is on the command line, rather than in the environment.
pub(crate) fn has_flag(flag: &str) -> bool {
    let with_value = format!("{flag}=");
    std::env::args_os().any(|argument| {
        let argument = argument.to_string_lossy();
        argument == flag || argument.starts_with(&with_value)
    })
}

/// Logs a warning, once per flag, if a flag with a secret is on the command line.
pub(crate) fn warn_if_typed(name: &'static str) {
    static WARNED: Mutex<BTreeSet<&str>> = Mutex::new(BTreeSet::new());

    let mut warned = WARNED.lock().unwrap_or_else(PoisonError::into_inner);
    if has_flag(name) && warned.insert(name) {
        let file = file_flag(name);
        tracing::warn!(
            "{name} on the command line is visible to other users in the list of processes: use \
             {file} or {}",
            variable(name)
        );
    }
}

/// The flag that names a file with the secret of this one.
pub(crate) fn file_flag(flag: &str) -> String {
    match flag {
        "--api-key" => "--key-file".to_owned(),
        other => format!("{other}-file"),
    }
}

/// The environment variable of a flag.
fn variable(flag: &str) -> String {
    let name = match flag {
        "--key" => "api_key".to_owned(),
        other => other.trim_start_matches('-').replace('-', "_"),
    };
    format!("REFLECT_{}", name.to_uppercase())
}
