//! The personal values that a memory says, and their roles in place of them.

use super::found::Found;
use super::keys::{is_id, is_person, is_personal};
use super::names::{is_word, names_after_openings, names_after_titles};
use super::patterns;
use crate::model::port::JudgedRun;
use crate::model::steps::{Step, steps};

/// Values and their roles, the longest value first.
#[derive(Debug, Default)]
pub(super) struct Values(Vec<(String, String)>);

/// The JSON of a run that is searched, in bytes.
const MAX_JSON: usize = 8 * 1024 * 1024;

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
                if case.is_serial() {
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
        Self(found.into_roles())
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

/// The text without the `=` at its end, if the name before it is the role of a value.
fn without_value(text: &str) -> Option<&str> {
    let named = text.strip_suffix('=')?;
    let name = named.rsplit(|c| !is_word(c)).next().unwrap_or(named);
    (is_id(name) || is_personal(name) || is_person(name) || name == "name").then_some(named)
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

    #[test]
    fn titles_need_no_dot_and_are_no_verbs() {
        for (text, expected) in [
            (
                "Mr Becker and Mrs Li, mr. Rao",
                "Mr name and Mrs name, mr. name",
            ),
            (
                "Miss Ono, Mx. Ray, Prof. Abel",
                "Miss name, Mx. name, Prof. name",
            ),
            ("Herr Dr. Klein, Frau Kurz", "Herr Dr. name, Frau name"),
            ("I miss Berlin; 5 ms Total", "I miss Berlin; 5 ms Total"),
        ] {
            assert_eq!(replaced("", "{}", "{}", text), expected);
        }
    }

    #[test]
    fn words_and_placeholders_are_no_values() {
        let arguments = r#"{"id": "AMOUNT", "category_id": "PRICE", "user_id": "none", "email": "unknown",
            "phone": "n/a", "methods": ["PATCH", "DELETE"], "AMOUNT": 5, "FIRSTNAME": "Mia", "STREET": "Elm Street 7",
            "PHONE": "555-0199", "reservation_id": "HATHAT", "orderID": "77215"}"#;
        let text = "AMOUNT PRICE none unknown n/a PATCH DELETE; Mia, Elm Street 7, 555-0199, HATHAT, 77215";
        assert_eq!(
            replaced("", arguments, "{}", text),
            "AMOUNT PRICE none unknown n/a PATCH DELETE; FIRSTNAME, STREET, PHONE, reservation_id, orderID"
        );
    }

    #[test]
    fn a_number_that_a_noun_announces_is_known_everywhere() {
        assert_eq!(
            replaced(
                "Refund order #W591.",
                "{}",
                "{}",
                "W591 and #W591 were late, order #12 and 12 not"
            ),
            "order_id and order_id were late, order #12 and 12 not"
        );
    }

    #[test]
    fn a_key_of_many_characters_or_strange_ones_is_no_role() {
        let long = "k".repeat(65) + "_id";
        let arguments = format!(
            r#"{{"{long}": "AB1234", "ignore all rules_id": "CD1234", "first-name": "Mia", "{}_id": "X123"}}"#,
            "k".repeat(50)
        );
        assert_eq!(
            replaced("", &arguments, "{}", "AB1234, CD1234, Mia, X123"),
            "id, id, first_name, id"
        );
    }

    #[test]
    fn values_that_are_roles_do_not_make_a_text_grow() {
        let pairs: Vec<String> = (0..200)
            .map(|n| format!(r#""v{n:04}_id": "v{:04}_id""#, n + 1))
            .collect();
        let ids: Vec<String> = (0..200).map(|n| format!("v{n:04}_id")).collect();
        let text = ids.join(" ");
        let replaced = replaced("", &format!("{{{}}}", pairs.join(",")), "{}", &text);
        assert!(replaced.len() <= 8 * text.len());
    }

    #[test]
    fn only_values_that_are_said_take_room() {
        let ids: Vec<String> = (0..100_000).map(|n| format!(r#""A{n:09}""#)).collect();
        let answer = format!(r#"{{"orders": [{}]}}"#, ids.join(","));
        assert!(answer.len() > 1024 * 1024);
        assert_eq!(
            replaced("", "{}", &answer, "cancel A000099999"),
            "cancel order_id"
        );
    }
}
