//! Output of commands: JSON for programs, tables for people. Neither carries a character that moves a
//! cursor, hides or reorders text, wherever it comes from.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead as _, Write as _};

use indicatif::{ProgressBar, ProgressStyle};
use reflect_types::{Page, Usage, neutral};
use serde::Serialize;

use crate::failure::Failure;

/// Prints a value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value)?;
    Ok(writeln!(io::stdout(), "{}", escaped(&text))?)
}

/// JSON with escapes for hidden characters, which are all inside its strings: the data stay exact.
pub(crate) fn escaped(json: &str) -> Cow<'_, str> {
    if !json.contains(neutral::is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        if neutral::is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = fmt::Write::write_fmt(&mut text, format_args!("\\u{unit:04x}"));
            }
        } else {
            text.push(c);
        }
    }
    Cow::Owned(text)
}

/// Prints a text.
pub(crate) fn say(text: fmt::Arguments<'_>) -> Result<(), Failure> {
    let text = text.to_string();
    Ok(writeln!(io::stdout(), "{}", neutral::for_terminal(&text))?)
}

/// A number of things: `1 memory`, `2 memories`, `9,700 runs`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    let number = grouped(count);
    match (count, thing.strip_suffix('y')) {
        (1, _) => format!("{number} {thing}"),
        (_, Some(stem)) if !thing.ends_with("key") => format!("{number} {stem}ies"),
        _ => format!("{number} {thing}s"),
    }
}

/// A number of things that do something: `1 run waits`, `2 runs wait`.
pub(crate) fn counted_that(count: u64, thing: &str, one: &str, many: &str) -> String {
    let verb = if count == 1 { one } else { many };
    format!("{} {verb}", counted(count, thing))
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let (rest, last) = (number / 1_000, number % 1_000);
    if rest == 0 {
        return last.to_string();
    }
    format!("{},{last:03}", grouped(rest))
}

/// The tokens that are read and written.
pub(crate) fn tokens(usage: Usage) -> String {
    let (input, output) = (grouped(usage.input_tokens), grouped(usage.output_tokens));
    format!("{input} in, {output} out")
}

/// A column of a table: its heading, and its cell of a row.
pub(crate) type Column<'a, T> = (&'a str, &'a dyn Fn(&T) -> String);

/// Prints rows under a heading, in aligned columns.
pub(crate) fn table<T>(rows: &[T], columns: &[Column<'_, T>]) -> Result<(), Failure> {
    let cells = |(heading, cell): &Column<'_, T>| {
        let cells = rows.iter().map(|row| id(&cell(row)));
        std::iter::once((*heading).to_owned())
            .chain(cells)
            .collect()
    };
    let columns: Vec<Vec<String>> = columns.iter().map(cells).collect();
    let length = |cell: &String| cell.chars().count();
    let widths = columns.iter().map(|cells| cells.iter().map(length).max());
    let widths: Vec<usize> = widths.map(Option::unwrap_or_default).collect();
    let mut out = io::stdout().lock();
    for row in 0..=rows.len() {
        let cells = columns.iter().map(|cells| &cells[row]).zip(&widths);
        let padded = cells.map(|(cell, width)| format!("{cell:<width$}"));
        let line = padded.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// The text of a value, if there is one.
pub(crate) fn or_nothing<T: ToString>(value: Option<&T>) -> String {
    value.map_or_else(String::new, ToString::to_string)
}

/// Prints a page of a list, as JSON or by `show`. Standard error says how to continue one that stops early, and
/// that there is nothing to show.
pub(crate) fn page<T: Serialize, I: fmt::Display>(
    page: &Page<T>,
    as_json: bool,
    id_of: impl FnOnce(&T) -> &I,
    show: impl FnOnce(&[T]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if as_json {
        json(&page.items)?;
    } else if page.items.is_empty() {
        eprintln!("nothing to show");
    } else {
        show(&page.items)?;
    }
    if let Some(last) = page.cursor() {
        let (count, last) = (page.items.len(), id(&id_of(last).to_string()));
        eprintln!("{count} shown, more follow: raise --limit or continue with --before {last}");
    }
    Ok(())
}

/// A progress bar on standard error, visible only in a terminal.
pub(crate) fn bar(length: u64) -> ProgressBar {
    styled(
        ProgressBar::new(length),
        "{wide_bar} {percent:>3}% {msg} {eta}",
    )
}

/// A spinner with the number of records, for input whose size is unknown.
pub(crate) fn spinner() -> ProgressBar {
    styled(
        ProgressBar::new_spinner(),
        "{spinner} {pos} records {elapsed}",
    )
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// Says what was left out and why, up to a number that a person reads.
pub(crate) fn left_out<T>(
    all: &[T],
    words: impl Fn(&T) -> (&String, &String),
) -> Result<(), Failure> {
    const MAX_LISTED: usize = 20;

    for (what, why) in all.iter().take(MAX_LISTED).map(words) {
        say(format_args!("  {what}: {why}"))?;
    }
    match all.len().saturating_sub(MAX_LISTED) {
        0 => Ok(()),
        more => say(format_args!("  and {more} more: see them with --json")),
    }
}

/// Asks a question on standard error; returns whether the answer is yes.
pub(crate) fn agreed(question: &str) -> Result<bool, Failure> {
    eprint!("{question} [y/N] ");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The text on one line, cut to `most` characters, without what a terminal must not get.
pub(crate) fn line(text: &str, most: usize) -> String {
    let clean = neutral::for_terminal(text).replace(['\n', '\t'], " ");
    neutral::excerpt(&clean, most).into_owned()
}

/// An id, a time or another short text on one line, whole.
pub(crate) fn id(text: &str) -> String {
    line(text, usize::MAX)
}

/// The text in its lines, without what a terminal must not get.
pub(crate) fn block(text: &str) -> String {
    neutral::for_terminal(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(line("a\u{1b}[2Jb\nc\u{202e}", 20), "ab c");
        assert_eq!(block("a\u{1b}[2Jb\nc\u{9b}1m"), "ab\nc");
        assert_eq!(line("üüüü", 3), "üü…");
        assert_eq!(line("üüü", 3), "üüü");
    }

    #[test]
    fn things_are_counted_in_words() {
        assert_eq!(counted(1, "memory"), "1 memory");
        assert_eq!(counted(0, "memory"), "0 memories");
        assert_eq!(counted(1_234_567, "key"), "1,234,567 keys");
        assert_eq!(counted_that(1, "run", "waits", "wait"), "1 run waits");
        assert_eq!(counted_that(2, "run", "waits", "wait"), "2 runs wait");
    }

    #[test]
    fn json_is_exact_and_shows_no_hidden_character() {
        let hostile = "a\u{1b}\u{9b}\u{7f}\u{202e}\u{200b}\u{e0041}\u{2028}b\n👩‍🔬";
        let json = serde_json::to_string_pretty(&[hostile]).unwrap();
        let shown = escaped(&json);
        assert!(shown.contains("\\u009b\\u007f\\u202e\\u200b\\udb40\\udc41\\u2028b"));
        assert!(!shown.chars().any(neutral::is_hidden), "{shown:?}");
        let read: Vec<String> = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, [hostile]);
    }
}
