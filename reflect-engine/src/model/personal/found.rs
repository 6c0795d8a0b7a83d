//! The values that a run's tools show under a telling key.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::case::is_of_a_case;
use super::keys::{self, is_id, is_of_people, is_person, is_personal, member_id, names_a_person};
use super::names::{is_among, is_full_name, is_word};

const MAX_VALUES: usize = 512;
/// How many times as long as its value a role may be.
const MAX_GROWTH: usize = 8;

/// Values with their roles, as far as the texts have all their words; the first role of a value stays.
pub(super) struct Found<'t> {
    words: HashSet<&'t str>,
    roles: HashMap<String, String>,
}

impl<'t> Found<'t> {
    pub(super) fn new(texts: &[&'t str]) -> Self {
        let words = texts.iter().flat_map(|text| words(text)).collect();
        let roles = HashMap::new();
        Self { words, roles }
    }

    /// Reads a value that stands under `key`.
    pub(super) fn read(&mut self, key: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                let of_a_person = is_person(key) || fields.keys().any(|key| is_of_people(key));
                for (name, value) in fields {
                    if is_serial(name, key) {
                        self.add(name, &member_id(key));
                        self.read(key, value);
                    } else {
                        self.read(name, value);
                    }
                }
                let name = fields.get("name").and_then(Value::as_str);
                if let Some(name) = name.filter(|name| of_a_person && is_full_name(name)) {
                    self.add(name, "name");
                }
            }
            Value::Array(items) => {
                for item in items {
                    match item.as_str().filter(|text| is_serial(text, key)) {
                        Some(code) if !is_id(key) => self.add(code, &member_id(key)),
                        _ => self.read(key, item),
                    }
                }
            }
            Value::String(text)
                if is_personal(key)
                    || (is_id(key) && (is_code(text, key) || names_a_person(key))) =>
            {
                self.add(text, key);
            }
            Value::String(text) if is_person(key) && is_full_name(text) => {
                self.add(text, key);
            }
            Value::Number(number) if is_personal(key) || is_id(key) => {
                self.add(&number.to_string(), key);
            }
            _ => {}
        }
    }

    pub(super) fn add(&mut self, value: &str, role: &str) {
        let value = value.trim();
        let names = role.to_ascii_lowercase().ends_with("name") || is_person(role);
        let letters = value.chars().take(201).count();
        let fits = (4..=200).contains(&letters) || (names && (2..4).contains(&letters));
        let is_said = || {
            let mut words = words(value).peekable();
            words.peek().is_some() && words.all(|word| self.words.contains(word))
        };
        if fits && self.roles.len() < MAX_VALUES && !is_no_value(value) && is_said() {
            let mut role = keys::role(role);
            if role.len() > MAX_GROWTH * value.len() {
                "id".clone_into(&mut role);
            }
            self.roles.entry(value.to_owned()).or_insert(role);
        }
    }

    /// The values and their roles, the longest value first. One that is itself a role would be replaced again.
    pub(super) fn into_roles(self) -> Vec<(String, String)> {
        let known: HashSet<String> = self.roles.values().cloned().collect();
        let roles = self.roles.into_iter();
        let mut roles: Vec<_> = roles.filter(|(value, _)| !known.contains(value)).collect();
        roles.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        roles
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c| !is_word(c));
    words.filter(|word| !word.is_empty())
}

/// Whether a text stands for a value that is missing or does not matter.
fn is_no_value(text: &str) -> bool {
    const PLACEHOLDERS: &str = "none unknown null nil n/a true false default test testing tests example sample dummy \
        placeholder undefined anonymous admin root guest user customer string number integer email phone name address \
        redacted hidden masked empty not_available not_provided unspecified";
    is_among(text, PLACEHOLDERS)
}

/// Whether a text under a key of an identifier is one rather than a word: one word with a digit, or all in capitals
/// if the key is that of a case.
fn is_code(text: &str, key: &str) -> bool {
    let digits = text.bytes().any(|byte| byte.is_ascii_digit());
    is_one_word(text) && (digits || (is_capital(text) && is_of_a_case(key)))
}

/// Whether a text is an identifier in a list or as a key of an object: one word with four digits or more, or at
/// least five capitals and digits; without a digit, only if the list is one of cases. A date is none.
fn is_serial(text: &str, key: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_date_part = |part: &str| part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
    let is_date = text.split('-').all(is_date_part);
    let is_capital_code = text.len() >= 5 && is_capital(text) && (digits > 0 || is_of_a_case(key));
    is_one_word(text) && !is_date && (digits >= 4 || is_capital_code) && !is_personal(text)
}

fn is_one_word(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '#'))
}

fn is_capital(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}
