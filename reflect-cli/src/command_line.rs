//! The arguments of the process, as they were typed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Whether the flag is on the command line, rather than in the environment.
pub(crate) fn has_flag(flag: &str) -> bool {
    typed().any(|argument| flag_of(&argument) == flag)
}

/// A command of this program to paste, with the place and the project that this one was given by flags. Those that
/// it names itself stay, and secrets are left out. What it names has to be [`quoted`].
pub(crate) fn hint(command: &str) -> String {
    hinted(command, typed())
}

fn hinted(command: &str, typed: impl Iterator<Item = String>) -> String {
    const DATA: [&str; 2] = ["--data", "--database-url"];
    const SERVER: [&str; 2] = ["--url", "--key-file"];

    let typed: Vec<String> = typed.collect();
    let on_data = typed
        .iter()
        .any(|argument| DATA.contains(&flag_of(argument)));
    let has_data = command.contains("--data");
    let is_server = command.starts_with("serve");
    let keeps = |flag: &str| {
        DATA.contains(&flag) && !has_data
            || SERVER.contains(&flag) && !has_data && !on_data && !is_server
            || flag == "--project" && !command.contains(flag) && !is_server
    };
    let mut hint = format!("reflect {command}");
    for (place, argument) in typed.iter().enumerate() {
        let flag = flag_of(argument);
        if keeps(flag) {
            let value = argument
                .strip_prefix(flag)
                .and_then(|rest| rest.strip_prefix('='));
            let value = value.or_else(|| typed.get(place + 1).map(String::as_str));
            let value = without_password(value.unwrap_or_default());
            hint = format!("{hint} {flag} {}", quoted(&value));
        }
    }
    hint
}

fn flag_of(argument: &str) -> &str {
    argument.split_once('=').map_or(argument, |(flag, _)| flag)
}

/// The arguments of this program, without those of a command that it runs.
fn typed() -> impl Iterator<Item = String> {
    let typed = std::env::args_os().skip(1);
    let typed = typed.map(|argument| argument.to_string_lossy().into_owned());
    typed.take_while(|argument| argument != "--")
}

/// An address may contain a password, or a token in its query.
fn without_password(value: &str) -> Cow<'_, str> {
    let is_database = value.to_ascii_lowercase().starts_with("postgres");
    match value.split_once("://") {
        Some((scheme, rest)) if is_database || rest.contains(['@', '?']) => {
            Cow::Owned(format!("{scheme}://…"))
        }
        _ => Cow::Borrowed(value),
    }
}

/// A value as a shell reads it.
pub(crate) fn quoted(value: &str) -> String {
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
        let both = ["doctor", "--url", "http://h:1", "--data=a.db"];
        assert_eq!(shown("keys list", &both), "reflect keys list --data a.db");
        let new = "keys create LABEL --data b.db";
        assert_eq!(shown(new, &both), format!("reflect {new}"));
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
        let typed = ["--url", "http://me:secret@host"];
        assert_eq!(shown("traces", &typed), "reflect traces --url http://…");
        let typed = ["--data", "postgres://me:secret@host/db"];
        assert_eq!(
            shown("traces", &typed),
            "reflect traces --data postgres://…"
        );
    }
}
