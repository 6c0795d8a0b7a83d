//! The arguments of the process, as they were typed.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Whether the flag is on the command line, rather than in the environment.
pub(crate) fn has_flag(flag: &str) -> bool {
    let with_value = format!("{flag}=");
    typed().any(|argument| argument == flag || argument.starts_with(&with_value))
}

/// A command of this program to paste, with the place and the project that this one was given by flags. Those that
/// it names itself stay, and secrets are left out.
pub(crate) fn hint(command: &str) -> String {
    hinted(command, typed())
}

fn hinted(command: &str, typed: impl Iterator<Item = String>) -> String {
    const PLACE: [&str; 5] = [
        "--data",
        "--database-url",
        "--url",
        "--key-file",
        "--project",
    ];

    let kept = match command.split(' ').next() {
        Some("serve") => &PLACE[..2],
        _ => &PLACE[..],
    };
    let mut hint = format!("reflect {command}");
    let mut typed = typed;
    while let Some(argument) = typed.next() {
        let (flag, value) = match argument.split_once('=') {
            Some((flag, value)) => (flag, Some(value.to_owned())),
            None => (argument.as_str(), None),
        };
        if kept.contains(&flag) && !command.contains(flag) {
            let value = value.or_else(|| typed.next()).unwrap_or_default();
            hint = format!("{hint} {flag} {}", quoted(&without_password(value)));
        }
    }
    hint
}

/// The arguments of this program, without those of a command that it runs.
fn typed() -> impl Iterator<Item = String> {
    let typed = std::env::args_os().skip(1);
    let typed = typed.map(|argument| argument.to_string_lossy().into_owned());
    typed.take_while(|argument| argument != "--")
}

/// An address of a database may contain a password.
fn without_password(value: String) -> String {
    let is_database = value.to_ascii_lowercase().starts_with("postgres");
    match value.split_once("://") {
        Some((scheme, _)) if is_database => format!("{scheme}://…"),
        _ => value,
    }
}

/// A value as a shell reads it.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+,=~…".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) {
        return value.to_owned();
    }
    format!("'{}'", value.replace('\'', r"'\''"))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str, typed: &[&str]) -> String {
        hinted(command, typed.iter().map(ToString::to_string))
    }

    #[test]
    fn a_hint_keeps_the_place_that_was_typed() {
        let typed = [
            "review",
            "--data",
            "my runs.db",
            "--json",
            "--project=support",
        ];
        let place = "--data 'my runs.db' --project support";
        assert_eq!(
            shown("traces show t", &typed),
            format!("reflect traces show t {place}")
        );
        assert_eq!(shown("serve", &typed), "reflect serve --data 'my runs.db'");
        let other = "traces retry --project other";
        assert_eq!(
            shown(other, &typed),
            format!("reflect {other} --data 'my runs.db'")
        );
        assert_eq!(shown("keys list", &[]), "reflect keys list");
    }

    #[test]
    fn a_hint_shows_no_secret() {
        let typed = [
            "--url",
            "http://h:1",
            "--key",
            "rf_live_a_b",
            "--key-file",
            "k",
        ];
        assert_eq!(
            shown("traces", &typed),
            "reflect traces --url http://h:1 --key-file k"
        );
        let typed = ["--data", "postgres://me:secret@host/db"];
        assert_eq!(
            shown("traces", &typed),
            "reflect traces --data postgres://…"
        );
    }
}
