//! The first page of help, with the commands in groups.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

/// The commands in the order in which one meets them.
const GROUPS: &[(&str, &[&str])] = &[
    ("Run it", &["serve", "mcp", "demo", "doctor"]),
    (
        "Runs and reviews",
        &["traces", "review", "eval", "judge", "report"],
    ),
    ("What was learned", &["memories", "skill", "undo"]),
    (
        "Projects and their data",
        &["projects", "keys", "export", "import", "migrate"],
    ),
    ("This program", &["completions", "man", "help"]),
];

/// The command line whose help lists commands in groups, and is short with `--help` too.
pub(crate) fn grouped(command: Command) -> Command {
    let mut command = command.disable_help_flag(true).arg(
        Arg::new("help")
            .short('h')
            .long("help")
            .action(ArgAction::HelpShort)
            .help("Print help; `reflect COMMAND --help` has that of a command"),
    );
    command.build();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}{{after-help}}",
        listing(&command)
    );
    command.help_template(template)
}

fn listing(command: &Command) -> String {
    let mut listing = String::new();
    for (heading, names) in GROUPS {
        // Writing to a string cannot fail.
        let _ = writeln!(listing, "{heading}:");
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(String::new, ToString::to_string);
            let _ = writeln!(listing, "  {name:<12} {about}");
        }
    }
    listing
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let command = grouped(crate::Arguments::command());
        let all: BTreeSet<&str> = command.get_subcommands().map(Command::get_name).collect();
        let listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), all);
        assert_eq!(listed.len(), all.len());
    }

    #[test]
    fn the_first_page_fits_a_screen() {
        let help = grouped(crate::Arguments::command())
            .render_help()
            .to_string();
        assert!(help.lines().count() <= 40, "{help}");
    }
}
