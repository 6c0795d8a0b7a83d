//! Output of commands: JSON for programs, tables for people.

use std::fmt;
use std::io::{self, BufRead as _, Write as _};

use serde::Serialize;

use crate::failure::Failure;

/// Prints a value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(())
}

/// Prints one line.
pub(crate) fn say(text: fmt::Arguments<'_>) -> Result<(), Failure> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// Prints rows under a heading, in aligned columns.
pub(crate) fn table<const N: usize>(
    heading: [&str; N],
    rows: &[[String; N]],
) -> Result<(), Failure> {
    let mut widths = heading.map(|text| text.chars().count());
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = io::stdout().lock();
    let mut line = |cells: [&str; N]| {
        let padded = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let text = padded.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", text.trim_end())
    };
    line(heading)?;
    for row in rows {
        line(row.each_ref().map(String::as_str))?;
    }
    Ok(())
}

/// Notes on standard error that a list of `count` rows is incomplete, and how to continue it.
pub(crate) fn more_follow(count: usize, last: &impl fmt::Display) {
    eprintln!("{count} shown, more follow: raise --limit or continue with --before {last}");
}

/// Asks a question on standard error; returns whether the answer is yes.
pub(crate) fn agreed(question: &str) -> Result<bool, Failure> {
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The text on one line, cut to `most` characters. Control characters, which could move the cursor,
/// become spaces.
pub(crate) fn line(text: &str, most: usize) -> String {
    let mut clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(most + 1)
        .collect();
    if clean.chars().count() > most {
        clean = clean.chars().take(most.saturating_sub(1)).collect();
        clean.push('…');
    }
    clean
}

/// The text without control characters other than newlines and tabs.
pub(crate) fn block(text: &str) -> String {
    let keep = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(line("a\u{1b}[2Jb\nc", 20), "a [2Jb c");
        assert_eq!(block("a\u{1b}[2Jb\nc\r"), "a[2Jb\nc");
        assert_eq!(line("üüüü", 3), "üü…");
        assert_eq!(line("üüü", 3), "üüü");
    }
}
