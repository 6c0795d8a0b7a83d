//! The values that a run's tools show under a telling key.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::case::is_of_a_case;
use super::keys::{self, is_id, is_of_people, is_person, is_personal, member_id, names_a_person};
use super::names::{is_full_name, is_word, names_after_openings, names_after_titles};
use super::patterns;
use crate::model::port::JudgedRun;
use crate::model::steps::{Step, steps};

/// Values and their roles, the longest value first.
#[derive(Debug, Default)]
pub(super) struct Values(Vec<(String, String)>);

/// The JSON of a run that is searched, in bytes.
const MAX_JSON: usize = 8 * 1024 * 1024;
const MAX_VALUES: usize = 512;
/// How many times as long as its value a role may be.
const MAX_GROWTH: usize = 8;

impl Values {
    /// The values of the run that its task or what is `written` about it says.
    pub(super) fn of(run: &JudgedRun<'_>, written: &str) -> Self {
        let texts = [run.task, written];
        let mut found = Found::new(&texts);
        for text in texts {
            for name in names_after_titles(text) {
                found.add(name, "name");
            }
        }
        for name in names_after_openings(run.task) {
            found.add(name, "name");
        }
        for text in texts {
            // A number that `order` announces once is one of an order everywhere.
            patterns::find_cases(text, |case| {
                if is_serial_code(case.code) {
                    found.add(case.code, &case.role);
                    found.add(&format!("#{}", case.code), &case.role);
                }
            });
        }
        let mut room = MAX_JSON;
        for step in steps(run.messages) {
            let (Step::Called {
                arguments: text, ..
            }
            | Step::Answered { text, .. }) = step
            else {
                continue;
            };
            if text.trim_start().starts_with(['{', '['])
                && text.len() <= room
                && let Ok(json) = serde_json::from_str(&text)
            {
                room -= text.len();
                found.read("", &json);
            }
        }
        found.into_values()
    }

    /// The text with roles for the values, where they are whole words; `order_id=value` becomes
    /// `order_id`.
    pub(super) fn replace(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (value, role) in &self.0 {
            if !text.contains(value) {
                continue;
            }
            let mut replaced = String::with_capacity(text.len());
            let mut rest = text.as_str();
            while let Some(at) = rest.find(value.as_str()) {
                let (before, after) = (&rest[..at], &rest[at + value.len()..]);
                replaced.push_str(before);
                let starts = !value.starts_with(is_word) || !replaced.ends_with(is_word);
                let ends = !value.ends_with(is_word) || !after.starts_with(is_word);
                if !(starts && ends) {
                    replaced.push_str(value);
                } else if let Some(named) = without_value(&replaced) {
                    let end = named.len();
                    replaced.truncate(end);
                } else if let Some(next) = same_role(after, role) {
                    // The parts of a name are one name.
                    rest = next;
                    continue;
                } else if same_role_before(&replaced, role) {
                    replaced.pop();
                } else {
                    replaced.push_str(role);
                }
                rest = after;
            }
            replaced.push_str(rest);
            text = replaced;
        }
        text
    }
}

/// What follows a value, from its role on, if that stands there already.
fn same_role<'a>(after: &'a str, role: &str) -> Option<&'a str> {
    let next = after.strip_prefix(' ')?;
    let rest = next.strip_prefix(role)?;
    (!rest.starts_with(is_word)).then_some(next)
}

/// Whether the role and a space stand before a value.
fn same_role_before(before: &str, role: &str) -> bool {
    let before = before.strip_suffix(' ');
    let before = before.and_then(|before| before.strip_suffix(role));
    before.is_some_and(|before| !before.ends_with(is_word))
}

/// Values with their roles, as far as the texts have all their words; the first role of a value stays.
struct Found<'t> {
    words: HashSet<&'t str>,
    roles: HashMap<String, String>,
}

impl<'t> Found<'t> {
    fn new(texts: &[&'t str]) -> Self {
        let words = texts.iter().flat_map(|text| words(text)).collect();
        let roles = HashMap::new();
        Self { words, roles }
    }

    /// Reads a value that stands under `key`.
    fn read(&mut self, key: &str, value: &Value) {
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

    fn add(&mut self, value: &str, role: &str) {
        let value = value.trim();
        let names = role.to_ascii_lowercase().ends_with("name") || is_person(role);
        let letters = value.chars().take(201).count();
        let fits = (4..=200).contains(&letters) || (names && (2..4).contains(&letters));
        let is_said = || words(value).all(|word| self.words.contains(word));
        if fits && self.roles.len() < MAX_VALUES && !is_no_value(value) && is_said() {
            let mut role = keys::role(role);
            if role.len() > MAX_GROWTH * value.len() {
                "id".clone_into(&mut role);
            }
            self.roles.entry(value.to_owned()).or_insert(role);
        }
    }

    /// The values, without those that are themselves a role, which would be replaced again.
    fn into_values(self) -> Values {
        let roles: HashSet<&String> = self.roles.values().collect();
        let values = self
            .roles
            .iter()
            .filter(|(value, _)| !roles.contains(value));
        let mut values: Vec<_> = values
            .map(|(value, role)| (value.clone(), role.clone()))
            .collect();
        values.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Values(values)
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
    let lower = text.to_ascii_lowercase();
    PLACEHOLDERS.split_whitespace().any(|known| known == lower)
}

/// The text without the `=` at its end, if the name before it is the role of a value.
fn without_value(text: &str) -> Option<&str> {
    let named = text.strip_suffix('=')?;
    let name = named.rsplit(|c| !is_word(c)).next().unwrap_or(named);
    (is_id(name) || is_personal(name) || is_person(name) || name == "name").then_some(named)
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

/// Whether the number of a case shows as one wherever it stands: with letters and digits, or five digits and more.
fn is_serial_code(code: &str) -> bool {
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let letters = code.bytes().any(|byte| byte.is_ascii_alphabetic());
    code.len() >= 4 && (digits >= 5 || (letters && digits > 0))
}

fn is_one_word(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '#'))
}

fn is_capital(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use reflect_types::{Message, ToolCall, Verdict};

    use super::*;

    fn replaced(task: &str, arguments: &str, answer: &str, text: &str) -> String {
        values(task, arguments, answer, text).replace(text)
    }

    fn values(task: &str, arguments: &str, answer: &str, written: &str) -> Values {
        let messages = [
            Message::tool_calls([ToolCall::new("1", "pay", arguments)]),
            Message::tool("1", answer),
        ];
        let run = JudgedRun {
            task,
            messages: &messages,
            final_response: "",
            verdict: Verdict::Fail,
            feedback: None,
            reference_context: None,
        };
        Values::of(&run, written)
    }

    #[test]
    fn a_value_becomes_the_key_it_stands_under() {
        let arguments = r#"{"user_id": "mia", "payment_id": "CERT99", "category_id": "shoes",
            "passengers": [{"first_name": "Mia", "last_name": "Li", "dob": "1990-04-05"}]}"#;
        let answer = r#"{"orderId": 77215, "reservations": ["JMO1MG", "HATHAT"], "cards": {
            "visa_1234567": {"last_four": "7447"}}, "sizes": ["large"], "address1": "12 Elm Street"}"#;
        let text = "pay(payment_id=CERT99, to=77215) for mia: shoes, large; Mia Li, 1990-04-05, \
            12 Elm Street, address1; JMO1MG and HATHAT on visa_1234567 or 7447, Lima, MiaX";
        assert_eq!(
            replaced("", arguments, answer, text),
            "pay(payment_id, to=orderId) for mia: shoes, large; first_name last_name, dob, address1, \
             address1; reservation_id and reservation_id on card_id or last_four, Lima, MiaX"
        );
    }

    #[test]
    fn the_name_of_a_person_is_told_from_that_of_a_thing() {
        let arguments = r#"{"passenger": "Tom Becker", "customer": {"name": "Eva Klein"}, "product": "Desk Lamp",
            "user": "eva", "guests": ["Raj Rao", "Business Lounge 2"]}"#;
        let answer = r#"[{"name": "Water Bottle", "price": 5}, {"name": "Ana Silva", "email": "a@b.example"},
            {"name": "The Blue Door", "phone": "555-1234"}, {"name": "Red Mug", "customer_id": 7}]"#;
        let text = "book(passenger=Tom Becker): ask Eva Klein, Raj Rao and Ana Silva about the Desk Lamp and the Water \
            Bottle in Business Lounge 2. The Blue Door is closed, the Red Mug sold.";
        assert_eq!(
            replaced("", arguments, answer, text),
            "book(passenger): ask name, guests and name about the Desk Lamp and the Water Bottle in Business \
             Lounge 2. The Blue Door is closed, the Red Mug sold."
        );
    }

    #[test]
    fn a_name_that_the_reviewer_announces_is_a_name() {
        let feedback = "Mr. Becker's card (see Dr. Klein)\nis not Becker's account. Ask Ms. Rao\nNever pay twice. The tool name is Search, and \
            the request Basic Economy stays.";
        assert_eq!(
            values("", "{}", "{}", feedback).replace(feedback),
            "Mr. name's card (see Dr. name)\nis not name's account. Ask Ms. name\nNever pay twice. The tool name is Search, and the request \
             Basic Economy stays."
        );
    }

    #[test]
    fn a_name_in_the_task_is_a_name() {
        let text = "Raj met Mia Li and Go";
        assert_eq!(
            replaced(
                "Your name is Raj. You are Mia Li, hi. You are Go.",
                "{}",
                "{}",
                text
            ),
            "name met name and Go"
        );
        let task = "Customer Mia Li, sent by Dr. Okafor, has a Laptop; customer Service is closed. They request Basic Economy.";
        assert_eq!(
            replaced(
                task,
                "{}",
                "{}",
                "Mia, Li, Okafor; the customer Service Laptop in Basic Economy"
            ),
            "name, name, name; the customer Service Laptop in Basic Economy"
        );
    }
}
