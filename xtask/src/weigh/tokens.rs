//! Rust sources as tokens, without comments: as much of the language as counting needs.

use std::ops::RangeInclusive;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A name, a keyword, a number or a lifetime.
    Word,
    /// A string or a character, without its quotes.
    Text,
    Mark,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) lines: RangeInclusive<usize>,
}

impl Token {
    pub(super) fn is(&self, text: &str) -> bool {
        self.kind != Kind::Text && self.text == text
    }
}

pub(super) fn read(source: &str) -> Vec<Token> {
    let mut reader = Reader {
        rest: source,
        line: 1,
        tokens: Vec::new(),
    };
    while reader.step() {}
    reader.tokens
}

struct Reader<'a> {
    rest: &'a str,
    line: usize,
    tokens: Vec<Token>,
}

impl<'a> Reader<'a> {
    /// Reads a token or skips what is none; returns whether there was anything.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else {
            return false;
        };
        if first.is_whitespace() {
            self.take(first.len_utf8());
        } else if self.rest.starts_with("//") {
            self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.take(block_comment(self.rest));
        } else if let Some(opening) = raw_opening(self.rest) {
            let closing = format!("\"{}", "#".repeat(opening.matches('#').count()));
            self.text(opening.len(), &closing);
        } else if first == '"' || self.rest.starts_with("b\"") || self.rest.starts_with("c\"") {
            let opening = self.rest.find('"').unwrap_or(0) + 1;
            self.escaped(opening, '"');
        } else if is_character(self.rest) {
            self.escaped(1, '\'');
        } else if is_word(first) || first == '\'' {
            let mut others = self.rest.char_indices().skip(1);
            let end = others.find(|(_, next)| !is_word(*next));
            self.push(Kind::Word, end.map_or(self.rest.len(), |(at, _)| at));
        } else {
            self.push(Kind::Mark, first.len_utf8());
        }
        true
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    fn push(&mut self, kind: Kind, length: usize) {
        let first = self.line;
        let text = self.take(length).to_owned();
        let lines = first..=self.line;
        self.tokens.push(Token { kind, text, lines });
    }

    /// A raw string.
    fn text(&mut self, opening: usize, closing: &str) {
        self.take(opening);
        self.push(
            Kind::Text,
            self.rest.find(closing).unwrap_or(self.rest.len()),
        );
        self.take(closing.len().min(self.rest.len()));
    }

    /// A string or character with escapes.
    fn escaped(&mut self, opening: usize, quote: char) {
        self.take(opening);
        let mut is_escaped = false;
        let end = self.rest.find(|next| {
            let ends = next == quote && !is_escaped;
            is_escaped = next == '\\' && !is_escaped;
            ends
        });
        self.push(Kind::Text, end.unwrap_or(self.rest.len()));
        self.take(self.rest.len().min(1));
    }
}

pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// The length of a comment, which may hold others.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while let Some(next) = rest[at..].find(['/', '*']) {
        at += next;
        let step = match rest.get(at..at + 2) {
            Some("/*") => 1,
            Some("*/") => -1,
            _ => 0,
        };
        depth += step;
        at += if step == 0 { 1 } else { 2 };
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// What opens a raw string.
fn raw_opening(rest: &str) -> Option<&str> {
    let prefix = ["r", "br", "cr"];
    let prefix = prefix.into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| after.starts_with(['"', '#']))
    })?;
    let hashes = rest[prefix.len()..].find(|next| next != '#')?;
    let length = prefix.len() + hashes;
    rest[length..].starts_with('"').then(|| &rest[..=length])
}

/// Whether a character begins here, and no lifetime.
fn is_character(rest: &str) -> bool {
    let mut characters = rest.chars();
    characters.next() == Some('\'')
        && (characters.next() == Some('\\') || characters.next() == Some('\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<String> {
        read(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn strings_characters_and_comments_hide_what_they_hold() {
        let source = "a /* { /* */ } */ \"{ \\\" // \" r#\"\"{\"# 'b '{' '\\'' // }\nc";
        assert_eq!(
            texts(source),
            ["a", "{ \\\" // ", "\"{", "'b", "{", "\\'", "c"]
        );
    }

    #[test]
    fn a_string_has_all_its_lines() {
        let tokens = read("x\n\"a\nb\"\ny");
        let lines: Vec<_> = tokens.into_iter().map(|token| token.lines).collect();
        assert_eq!(lines, [1..=1, 2..=3, 4..=4]);
    }
}
