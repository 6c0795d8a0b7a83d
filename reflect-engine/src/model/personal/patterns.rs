//! Values that their form, or the word before them, gives away.

use super::case::{Case, case, id};
use super::mail::{Addresses, is_host, is_local};
use super::names::is_word;
use super::number::{announces_phone, number};

/// The text with roles for mail addresses, card and phone numbers, and identifiers. Replacing again changes nothing:
/// whether something is a value depends on what is already replaced before it, and on nothing after it that is
/// replaced later.
pub(super) fn replace(text: &str) -> String {
    Scan::new(text).run(|_| {})
}

/// Calls `found` with the numbers of cases in the text.
pub(super) fn find_cases(text: &str, found: impl FnMut(&Case<'_>)) {
    let _ = Scan::new(text).run(found);
}

/// One pass over a text.
struct Scan<'a> {
    text: &'a str,
    at: usize,
    replaced: String,
    /// Where the text begins that is read and not yet copied.
    pending: usize,
    /// Whether what is replaced ends in an `@` and the begin of a host, which a role would make an address.
    is_in_host: bool,
    addresses: Addresses<'a>,
}

enum Value<'a> {
    Shown(usize, &'static str),
    Case(Case<'a>),
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            pending: 0,
            replaced: String::with_capacity(text.len()),
            is_in_host: false,
            addresses: Addresses::of(text),
        }
    }

    fn run(mut self, mut found: impl FnMut(&Case<'a>)) -> String {
        while let Some(first) = self.text[self.at..].chars().next() {
            match self.value(first) {
                Some(Value::Shown(length, role)) => {
                    self.replaced.push_str(role);
                    self.skip(length);
                }
                Some(Value::Case(case)) => {
                    found(&case);
                    if case.is_argument {
                        self.replaced.pop();
                    } else {
                        self.replaced.push_str(&case.role);
                    }
                    self.skip(case.length);
                }
                None => self.pass(first),
            }
        }
        self.copy_pending();
        self.replaced
    }

    /// Leaves a word, or one character between words, as it is.
    fn pass(&mut self, first: char) {
        let rest = &self.text[self.at..];
        let length = if is_word(first) {
            word_length(rest)
        } else {
            first.len_utf8()
        };
        if first == '@' {
            self.copy_pending();
            self.is_in_host = self.replaced.ends_with(is_local);
        } else {
            self.is_in_host &= is_host(first);
        }
        self.at += length;
    }

    fn skip(&mut self, length: usize) {
        self.at += length;
        self.pending = self.at;
    }

    fn copy_pending(&mut self) {
        self.replaced.push_str(&self.text[self.pending..self.at]);
        self.pending = self.at;
    }

    fn value(&mut self, first: char) -> Option<Value<'a>> {
        let starts_word = is_word(first);
        if !starts_word && !matches!(first, '+' | '(' | '#') {
            return None;
        }
        let rest = &self.text[self.at..];
        if starts_word {
            let (word, after) = rest.split_at(word_length(rest));
            if is_plain(word, after) {
                return None;
            }
        }
        self.copy_pending();
        let previous = self.replaced.chars().next_back().unwrap_or(' ');
        if is_word(previous) {
            return None;
        }
        if starts_word && let Some(length) = self.addresses.at(self.at) {
            return Some(Value::Shown(length, "email"));
        }
        if matches!(previous, '.' | '$' | '€' | '£' | '¥' | '₹') || self.is_in_host {
            return None;
        }
        let sign = matches!(first, '+' | '(') && !matches!(previous, '-' | '+' | '@');
        let number = (sign || first.is_ascii_digit())
            .then(|| self.number(rest))
            .flatten();
        if let Some((length, role)) = number.filter(|(_, role)| *role != "number") {
            return Some(Value::Shown(length, role));
        }
        if (first.is_ascii_alphanumeric() || first == '#')
            && let Some(case) = case(&self.replaced, rest)
            && self.addresses.at(self.at + case.length).is_none()
        {
            return Some(Value::Case(case));
        }
        let id = starts_word.then(|| id(rest)).flatten();
        let id = id.map(|length| Value::Shown(length, "id"));
        id.or_else(|| number.map(|(length, role)| Value::Shown(length, role)))
    }

    fn number(&mut self, rest: &str) -> Option<(usize, &'static str)> {
        // The last digits may be the first of a mail address.
        let may_end = |end| self.addresses.at(self.at + end).is_none();
        number(rest, || announces_phone(&self.replaced), may_end)
    }
}

/// Whether a word is no value: there is no digit in it, and it does not go on.
fn is_plain(word: &str, after: &str) -> bool {
    let goes_on = after.starts_with(['-', '@', '.', '+']);
    !goes_on && !word.bytes().any(|byte| byte.is_ascii_digit())
}

fn word_length(text: &str) -> usize {
    let is_ascii_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = text.bytes().take_while(is_ascii_word).count();
    if text[length..]
        .bytes()
        .next()
        .is_none_or(|byte| byte.is_ascii())
    {
        return length;
    }
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}
