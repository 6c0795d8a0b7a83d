//! The values that a run's tools show under a telling key.

use std::collections::HashMap;

use serde_json::Value;

use crate::model::port::JudgedRun;
use crate::model::steps::{Step, steps};

/// Values and their roles, the longest value first.
#[derive(Debug, Default)]
pub(super) struct Values(Vec<(String, String)>);

/// The JSON of a run that is searched, in bytes.
const MAX_JSON: usize = 1024 * 1024;
const MAX_VALUES: usize = 512;

/// What stands before a name, and the number of capitalised words that a name has at least there.
const TITLES: [(&str, usize); 4] = [("Mr. ", 1), ("Mrs. ", 1), ("Ms. ", 1), ("Dr. ", 1)];
/// The same, for tasks.
const OPENINGS: [(&str, usize); 10] = [
    ("name is ", 1),
    ("You are ", 2),
    ("I am ", 2),
    ("I'm ", 2),
    ("customer ", 2),
    ("patient ", 2),
    ("passenger ", 2),
    ("client ", 2),
    ("guest ", 2),
    ("named ", 2),
];

impl Values {
    pub(super) fn of(run: &JudgedRun<'_>) -> Self {
        let mut found = Found::default();
        // First, because there is room for so many values only.
        found.read_names(run.task, &TITLES);
        found.read_names(run.task, &OPENINGS);
        found.read_names(run.feedback.unwrap_or_default(), &TITLES);
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
        let mut values: Vec<(String, String)> = found.0.into_iter().collect();
        values.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Self(values)
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

/// Values with their roles; the first role of a value stays.
#[derive(Default)]
struct Found(HashMap<String, String>);

impl Found {
    /// Reads a value that stands under `key`.
    fn read(&mut self, key: &str, value: &Value) {
        match value {
            Value::Object(fields) => {
                let of_a_person = is_person(key) || fields.keys().any(|key| is_of_people(key));
                for (name, value) in fields {
                    if is_serial(name) {
                        self.add(name, member_id(key));
                        self.read(key, value);
                    } else if let Some(text) =
                        value.as_str().filter(|_| name == "name" && of_a_person)
                    {
                        self.read_full_name(name, text);
                    } else {
                        self.read(name, value);
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    match item.as_str().filter(|text| is_serial(text)) {
                        Some(code) if !is_id(key) => self.add(code, member_id(key)),
                        _ => self.read(key, item),
                    }
                }
            }
            Value::String(text)
                if is_personal(key) || (is_id(key) && (is_code(text) || names_a_person(key))) =>
            {
                self.add(text, key.to_owned());
            }
            Value::String(text) if is_person(key) => self.read_full_name(key, text),
            Value::Number(number) if is_personal(key) || is_id(key) => {
                self.add(&number.to_string(), key.to_owned());
            }
            _ => {}
        }
    }

    /// Reads the name of a person that stands under `key`: two capitalised words or more.
    fn read_full_name(&mut self, key: &str, text: &str) {
        let words: Vec<_> = text.split_whitespace().collect();
        if words.len() > 1 && words.iter().all(|word| is_name(word)) {
            self.add(text, key.to_owned());
        }
    }

    /// Reads names out of `Your name is Mia Li`, `You are Mia Li`, `Dr. Li` and `customer Mia Li`.
    fn read_names(&mut self, text: &str, openings: &[(&str, usize)]) {
        for (opening, fewest) in openings {
            let (first, rest) = opening.split_at(1);
            for (at, _) in text.match_indices(rest) {
                let Some(before) = without_letter(&text[..at], first) else {
                    continue;
                };
                let name = name_in(&text[at + rest.len()..]);
                if name.len() >= *fewest && !before.ends_with(is_word) {
                    for part in name {
                        self.add(part, "name".to_owned());
                    }
                }
            }
        }
    }

    fn add(&mut self, value: &str, role: String) {
        let value = value.trim();
        let names = role.ends_with("name") || is_person(&role);
        let letters = value.chars().count();
        let fits = (4..=200).contains(&letters) || (names && (2..4).contains(&letters));
        if fits && self.0.len() < MAX_VALUES && value != role {
            self.0.entry(value.to_owned()).or_insert(role);
        }
    }
}

/// The text without this letter at its end, in either case.
fn without_letter<'a>(text: &'a str, letter: &str) -> Option<&'a str> {
    let (before, last) = text.split_at_checked(text.len().checked_sub(1)?)?;
    last.eq_ignore_ascii_case(letter).then_some(before)
}

/// The words of a name at the beginning of the text, on one line and at most three.
fn name_in(text: &str) -> Vec<&str> {
    let mut name = Vec::new();
    let line = text.lines().next().unwrap_or_default();
    for word in line.split(' ').take(3) {
        let bare = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"']);
        let bare = bare.strip_suffix("'s").unwrap_or(bare);
        let bare = bare.strip_suffix("’s").unwrap_or(bare);
        if !is_name(bare) {
            break;
        }
        name.push(bare);
        if bare.len() < word.len() {
            break;
        }
    }
    name
}

/// The text without the `=` at its end, if the name before it is the role of a value.
fn without_value(text: &str) -> Option<&str> {
    let named = text.strip_suffix('=')?;
    let name = named.rsplit(|c| !is_word(c)).next().unwrap_or(named);
    (is_id(name) || is_personal(name) || is_person(name) || name == "name").then_some(named)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_name(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase)
        && word.chars().count() > 1
        && letters.all(|c| c.is_alphabetic() || c == '-' || c == '\'')
}

/// Whether a text is an identifier rather than a word: one word with a digit, or all in capitals.
fn is_code(text: &str) -> bool {
    let digits = text.bytes().any(|byte| byte.is_ascii_digit());
    is_one_word(text) && (digits || is_capital(text))
}

/// Whether a text is an identifier wherever it stands: one word with four digits or more, or at
/// least five capitals and digits. A date is none.
fn is_serial(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let is_date_part = |part: &str| part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
    let is_date = text.split('-').all(is_date_part);
    is_one_word(text) && !is_date && (digits >= 4 || (text.len() >= 5 && is_capital(text)))
}

fn is_one_word(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '#'))
}

fn is_capital(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

fn is_id(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    lower == "id" || lower.ends_with("_id") || lower.ends_with("_ids") || key.ends_with("Id")
}

fn names_a_person(key: &str) -> bool {
    const PEOPLE: &str =
        "user customer account member guest patient employee passenger contact person client";
    let lower = key.to_ascii_lowercase();
    PEOPLE.split(' ').any(|who| lower.starts_with(who))
}

/// Whether a key names a person, or several.
fn is_person(key: &str) -> bool {
    const PEOPLE: &str = "user customer member guest patient employee passenger contact person \
        client recipient sender attendee traveler traveller";
    let lower = key.to_ascii_lowercase();
    let one = lower.strip_suffix('s').unwrap_or(&lower);
    PEOPLE.split_whitespace().any(|who| who == one)
}

/// Whether only people have what this key names; others have a phone and an address too.
fn is_of_people(key: &str) -> bool {
    const KEYS: &str = "email dob dateofbirth birthdate birthday ssn passport passportnumber userid customerid \
        passengerid patientid employeeid";
    let bare: String = key.chars().filter(|c| *c != '_' && *c != '-').collect();
    let bare = bare.to_ascii_lowercase();
    KEYS.split_whitespace().any(|known| known == bare)
}

/// Whether a key names something about a person, in snake case or camel case.
fn is_personal(key: &str) -> bool {
    const KEYS: &str = "firstname lastname middlename fullname givenname familyname surname \
        username customername passengername guestname patientname contactname cardholder \
        cardholdername holdername recipientname sendername employeename email emailaddress phone \
        phonenumber mobile telephone address address1 address2 street streetaddress zip zipcode \
        postalcode dob dateofbirth birthdate birthday ssn passport passportnumber iban cardnumber \
        creditcard creditcardnumber lastfour last4 accountnumber";
    let bare: String = key.chars().filter(|c| *c != '_' && *c != '-').collect();
    let bare = bare.to_ascii_lowercase();
    KEYS.split_whitespace().any(|known| known == bare)
}

/// The role of the members of a list: `reservation_id` for `reservations`.
fn member_id(key: &str) -> String {
    match key.strip_suffix('s').unwrap_or(key) {
        "" => "id".to_owned(),
        one => format!("{one}_id"),
    }
}

#[cfg(test)]
mod tests {
    use reflect_types::{Message, ToolCall, Verdict};

    use super::*;

    fn replaced(task: &str, arguments: &str, answer: &str, text: &str) -> String {
        values(task, arguments, answer, None).replace(text)
    }

    fn values(task: &str, arguments: &str, answer: &str, feedback: Option<&str>) -> Values {
        let messages = [
            Message::tool_calls([ToolCall::new("1", "pay", arguments)]),
            Message::tool("1", answer),
        ];
        let run = JudgedRun {
            task,
            messages: &messages,
            final_response: "",
            verdict: Verdict::Fail,
            feedback,
            reference_context: None,
        };
        Values::of(&run)
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
            {"name": "The Blue Door", "phone": "555-1234"}]"#;
        let text = "book(passenger=Tom Becker): ask Eva Klein, Raj Rao and Ana Silva about the Desk Lamp and the Water \
            Bottle in Business Lounge 2. The Blue Door is closed.";
        assert_eq!(
            replaced("", arguments, answer, text),
            "book(passenger): ask name, guests and name about the Desk Lamp and the Water Bottle in Business \
             Lounge 2. The Blue Door is closed."
        );
    }

    #[test]
    fn a_name_that_the_reviewer_announces_is_a_name() {
        let feedback = "Mr. Becker's card (see Dr. Klein)\nis not Becker's account. Ask Ms. Rao\nNever pay twice. The tool name is Search, and \
            the request Basic Economy stays.";
        assert_eq!(
            values("", "{}", "{}", Some(feedback)).replace(feedback),
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
