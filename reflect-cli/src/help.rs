//! The pages of help: the first one with the commands in groups, the others with the options of most commands last.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command};

/// The heading of the options that most commands have, below a command's own.
pub(crate) const GLOBAL: &str = "Global options";

/// The most columns of a page, and of the first one.
const WIDTH: usize = 100;
const FIRST_WIDTH: usize = 80;

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
    let about = "Print help; `reflect COMMAND --help` has that of a command";
    // Clap hands the missing flag down to all commands.
    let mut command = command
        .max_term_width(WIDTH)
        .disable_help_flag(true)
        .mut_subcommands(with_help)
        .arg(flag(ArgAction::HelpShort, about));
    command.build();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}\nOptions:\n{{options}}{{after-help}}",
        listing(&command)
    );
    // The pages of commands have the rest.
    let short = |argument: Arg| argument.hide_env(true).hide_default_value(true);
    let command = command.mut_args(short).max_term_width(FIRST_WIDTH);
    command.help_template(template)
}

fn with_help(command: Command) -> Command {
    let flag = flag(ArgAction::Help, "Print help");
    command.mut_subcommands(with_help).arg(flag)
}

fn flag(action: ArgAction, about: &'static str) -> Arg {
    let flag = Arg::new("help").short('h').long("help");
    flag.action(action).help(about)
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

    /// The help of every command, with its path.
    fn pages() -> Vec<(Vec<String>, String)> {
        fn paths(command: &Command, above: &[String], all: &mut Vec<Vec<String>>) {
            for command in command.get_subcommands() {
                let path = [above, &[command.get_name().to_owned()]].concat();
                paths(command, &path, all);
                all.push(path);
            }
        }
        let mut all = vec![vec!["reflect".to_owned()]];
        paths(&crate::Arguments::command(), &all[0].clone(), &mut all);
        let mut pages = Vec::new();
        for path in all {
            for flag in ["-h", "--help"] {
                let asked = path.iter().cloned().chain([flag.to_owned()]);
                let shown = grouped(crate::Arguments::command()).try_get_matches_from(asked);
                let shown = shown.unwrap_err();
                let kind = shown.kind();
                assert_eq!(kind, clap::error::ErrorKind::DisplayHelp, "{path:?} {flag}");
                pages.push((path.clone(), shown.to_string()));
            }
        }
        pages
    }

    #[test]
    fn every_command_has_help_that_fits_the_screen() {
        let pages = pages();
        assert!(pages.len() > 60, "{}", pages.len());
        for (path, page) in pages {
            let width = if path.len() > 1 { WIDTH } else { FIRST_WIDTH };
            // A usage of many alternatives is one line.
            for line in page.lines().filter(|line| !line.starts_with("Usage:")) {
                assert!(line.chars().count() <= width, "{line}");
            }
        }
    }

    #[test]
    fn options_of_most_commands_are_below_those_of_the_command() {
        let mut with_both = 0;
        for (path, page) in pages() {
            let below = page.find(&format!("\n{GLOBAL}:\n"));
            if let (Some(own), Some(below)) = (page.find("\nOptions:\n"), below) {
                assert!(own < below, "{path:?}");
                let url = page.find("--url <");
                assert!(url.is_none_or(|url| url > below), "{path:?}");
                with_both += 1;
            }
        }
        assert!(with_both > 40, "{with_both}");
    }

    #[test]
    fn the_first_page_fits_a_screen() {
        let help = grouped(crate::Arguments::command())
            .render_help()
            .to_string();
        assert!(help.lines().count() <= 48, "{help}");
    }
}
