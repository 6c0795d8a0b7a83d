//! The reference of commands, flags and variables in `REFERENCE.md`, which is made from the
//! command line and must not differ from it.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory as _};

const ABOUT: &str = "\
# Reference: commands, flags and variables

A flag on the command line goes before its variable. `reflect man FOLDER` writes the same as manual pages,
`reflect completions SHELL` as a completion script.

The SDK's `ReflectClient::from_env` reads `REFLECT_BASE_URL`, `REFLECT_PROJECT_ID` and `REFLECT_API_KEY`, as the commands
that work on a server do.

Exit codes: 0 success, 1 failure, 2 usage error, 3 not allowed, 4 not found, 5 unreachable (retry), 6 conflict with
what is stored.

## Every command
";

/// The variables without a flag.
const MODELS: &str = "
Where a model is named and its address or key is not:

| variable | default | |
|---|---|---|
| `OPENAI_BASE_URL` | `https://api.openai.com/v1` | The base URL of the models that have none of their own |
| `OPENAI_API_KEY` |  | The key of these, sent to OpenAI and to `OPENAI_BASE_URL` only |
";

#[test]
fn the_reference_is_that_of_the_command_line() {
    let mut command = crate::Arguments::command();
    command.build();
    let mut made = ABOUT.to_owned();
    table(
        &mut made,
        command.get_arguments().filter(|one| is_of_all(one)),
    );
    made.push_str(MODELS);
    describe(&mut made, &command);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("REFERENCE.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(
        written == made,
        "REFERENCE.md is out of date: UPDATE_DOCS=1 cargo test -p reflect-cli reference"
    );
}

/// Describes the subcommands of a command, each with its own.
fn describe(made: &mut String, command: &Command) {
    for command in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let name = command.get_bin_name().unwrap_or(command.get_name());
        let about = command.get_long_about().or(command.get_about());
        let about = about.map(ToString::to_string).unwrap_or_default();
        let mut command_copy = command.clone();
        let usage = command_copy.render_usage().to_string();
        let usage = usage
            .trim_start_matches("Usage: ")
            .replace("\n       ", "\n");
        writeln!(made, "\n## {name}\n\n{about}.\n\n```text\n{usage}\n```").unwrap();
        let arguments = command.get_arguments();
        table(made, arguments.filter(|argument| !is_of_all(argument)));
        describe(made, command);
    }
}

/// Whether every command has the argument.
fn is_of_all(argument: &Arg) -> bool {
    matches!(argument.get_id().as_str(), "help" | "log" | "log_format")
}

fn table<'a>(made: &mut String, arguments: impl Iterator<Item = &'a Arg>) {
    let shown = |argument: &&Arg| !argument.is_hide_set() && argument.get_id() != "help";
    let mut arguments = arguments.filter(shown).peekable();
    if arguments.peek().is_some() {
        made.push_str("\n| | variable | default | |\n|---|---|---|---|\n");
    }
    arguments.for_each(|argument| row(made, argument));
}

fn row(made: &mut String, argument: &Arg) {
    let takes_value = matches!(argument.get_action(), ArgAction::Set | ArgAction::Append);
    let values = argument.get_value_names().unwrap_or_default();
    let value = values.first().map_or("", |name| name.as_str());
    let name = match (argument.get_long(), takes_value) {
        (Some(long), true) => format!("`--{long} {value}`"),
        (Some(long), false) => format!("`--{long}`"),
        (None, _) => format!("`{value}`"),
    };
    let variable = argument.get_env().and_then(|name| name.to_str());
    let variable = variable.map_or_else(String::new, |name| format!("`{name}`"));
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .filter(|_| takes_value)
        .map(|value| format!("`{}`", value.to_string_lossy()))
        .collect();
    let mut help = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|value| takes_value && !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() {
        write!(help, " ({})", values.join(", ")).unwrap();
    }
    for alias in argument.get_visible_aliases().unwrap_or_default() {
        write!(help, "; the same as `--{alias}`").unwrap();
    }
    let help = help.replace('|', "\\|").replace('\n', " ");
    writeln!(
        made,
        "| {name} | {variable} | {} | {help} |",
        defaults.join(" ")
    )
    .unwrap();
}
