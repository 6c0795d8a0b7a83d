use std::fmt;

use serde_json::{Map, Value};

use super::object;

/// How many `{` are tried.
const MAX_STARTS: usize = 1_000;
/// The work that any text may cost, in bytes scanned; more is granted by its length.
const SPARE_BYTES: usize = 256 * 1024;
/// What parsing costs, compared with scanning for the closing brace.
const PARSE_COST: usize = 8;

/// The objects of a text, in order. From one that is malformed or cut off the search continues inside
/// it. The work is bounded, whatever the text holds.
pub(super) struct Candidates<'a> {
    text: &'a str,
    /// Where the latest candidate begins.
    start: usize,
    /// Where the search continues.
    next: usize,
    starts: usize,
    budget: usize,
}

/// Why a `{` begins no object.
pub(super) enum Flaw {
    Malformed(serde_json::Error),
    /// It does not end.
    CutOff,
    /// The search was given up.
    TooMuch,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            start: 0,
            next: 0,
            starts: 0,
            budget: SPARE_BYTES.saturating_add(text.len().saturating_mul(4)),
        }
    }

    /// Continues the search inside the latest candidate instead of behind it.
    pub(super) fn enter(&mut self) {
        self.next = self.start + 1;
    }

    /// Ends the search, unless the latest candidate is a stray brace.
    pub(super) fn end_if_begun(&mut self) {
        if object::is_begun(&self.text[self.start..]) {
            self.end();
        }
    }

    fn end(&mut self) {
        self.next = self.text.len();
    }

    fn charge(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_sub(bytes);
    }
}

impl Iterator for Candidates<'_> {
    type Item = Result<Map<String, Value>, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        self.start = self.next + self.text[self.next..].find('{')?;
        if self.starts == MAX_STARTS || self.budget == 0 {
            self.end();
            return Some(Err(Flaw::TooMuch));
        }
        self.starts += 1;
        self.enter();
        let rest = &self.text[self.start..];
        let Some(length) = object::length(rest) else {
            self.charge(rest.len());
            return Some(Err(Flaw::CutOff));
        };
        self.charge(length);
        let parsed = object::parse(&rest[..length]);
        match parsed {
            Ok(_) => self.next = self.start + length,
            Err(_) => self.charge(length.saturating_mul(PARSE_COST)),
        }
        Some(parsed.map_err(Flaw::Malformed))
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::CutOff => f.write_str("the JSON object is cut off"),
            Self::TooMuch => f.write_str("there is too much around the JSON object"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_text_is_given_up() {
        for text in [
            "{".repeat(1_000_000),
            "{\"a\": ".repeat(200_000),
            "{x}".repeat(400_000),
            format!("{}{}", "{".repeat(50_000), "}".repeat(50_000)),
        ] {
            assert!(Candidates::new(&text).count() <= MAX_STARTS + 1);
            assert!(!Candidates::new(&text).any(|candidate| candidate.is_ok()));
        }
    }
}
