//! Answers that have to be JSON, from models that do not always keep to it.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::client::Client;
use crate::error::{Error, Result, excerpt};
use crate::prompt::Prompt;
use crate::tokens;

/// How often a model is asked for an answer that can be used.
const ATTEMPTS: u32 = 3;
/// How much of a bad answer the model is shown again, in tokens.
const SHOWN_AGAIN: usize = 1_000;

impl Client {
    /// The answer as a `T` that `check` finds nothing wrong with.
    ///
    /// Fences, thoughts, prose around the object, trailing commas and raw line breaks are repaired.
    /// What is not, or is cut off, is asked for again with what is wrong about it, three times in all.
    pub async fn complete_json<T: DeserializeOwned>(
        &self,
        prompt: Prompt,
        check: impl Fn(&T) -> Result<(), String>,
    ) -> Result<T> {
        let asked = prompt.json();
        let mut prompt = asked.clone();
        let mut problem = String::new();
        for _ in 0..ATTEMPTS {
            let answer = match self.complete(&prompt).await {
                Ok(answer) => answer,
                // Thoughts differ from time to time, so another try may well be short enough.
                Err(error @ Error::CutOff { .. }) => {
                    problem = error.to_string();
                    continue;
                }
                Err(error) => return Err(error),
            };
            problem = match read(&answer, &check) {
                Ok(value) => return Ok(value),
                Err(problem) => problem,
            };
            tracing::debug!(model = self.model(), problem, "the answer cannot be used");
            let shown = tokens::clip(&answer, SHOWN_AGAIN);
            let complaint = format!(
                "That cannot be used: {problem}. Answer again, with the JSON object alone, in the \
                 form and with the keys that were asked for."
            );
            prompt = asked.clone().again(shown, complaint);
        }
        Err(Error::Unusable {
            attempts: ATTEMPTS,
            problem,
        })
    }
}

/// The one object in the answer that is a `T` and passes the check.
///
/// A model may quote an object of that form out of what it was shown, before or after its own. Which of
/// them it means cannot be told, so objects that differ are no answer.
fn read<T: DeserializeOwned>(
    answer: &str,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, String> {
    /// How many `{` are tried.
    const STARTS: usize = 256;

    let answer = after_thoughts(answer);
    let mut problem = None;
    let mut found: Option<(Value, T)> = None;
    let mut from = 0;
    for start in 0.. {
        let Some(next) = answer[from..].find('{') else {
            break;
        };
        if start == STARTS {
            return Err("there is too much around the JSON object".to_owned());
        }
        let rest = &answer[from + next..];
        from += next + 1;
        let Some(length) = object_length(rest) else {
            problem.get_or_insert_with(|| "the JSON object is cut off".to_owned());
            if begins_an_object(rest) {
                // What stands within it was not meant to stand for the whole.
                break;
            }
            continue;
        };
        let object = &rest[..length];
        let parsed = serde_json::from_str(object).or_else(|_| serde_json::from_str(&mend(object)));
        let value: Value = match parsed {
            Ok(value) => value,
            Err(error) => {
                problem.get_or_insert_with(|| error.to_string());
                continue;
            }
        };
        let usable = T::deserialize(&value).map_err(|error| error.to_string());
        match usable.and_then(|usable| check(&usable).map(|()| usable)) {
            Ok(_) if found.as_ref().is_some_and(|(other, _)| *other != value) => {
                return Err("there is more than one such JSON object, and they differ".to_owned());
            }
            Ok(usable) => found = Some((value, usable)),
            Err(wrong) => {
                problem.get_or_insert(wrong);
                if wraps_one(&value) {
                    continue;
                }
            }
        }
        from += length - 1;
    }
    match found {
        Some((_, usable)) => Ok(usable),
        None => {
            Err(problem
                .unwrap_or_else(|| format!("there is no JSON object in {}", excerpt(answer))))
        }
    }
}

/// Whether the text goes on as an object does, and is no stray brace.
fn begins_an_object(text: &str) -> bool {
    text[1..].trim_start().starts_with('"')
}

/// Whether an object is nothing but the place of another, as in `{"answer": {…}}`.
fn wraps_one(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.len() == 1)
}

/// What stands behind the thoughts that some models write down first.
fn after_thoughts(answer: &str) -> &str {
    match answer.rsplit_once("</think>") {
        Some((_, rest)) => rest,
        None => answer,
    }
}

/// How long the object at the beginning is; `None` where it does not end.
fn object_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut strings = Strings::default();
    for (at, byte) in text.bytes().enumerate() {
        if strings.within(byte) {
            continue;
        }
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The object without trailing commas, and with line breaks in strings as JSON wants them.
fn mend(object: &str) -> String {
    let mut mended = String::with_capacity(object.len());
    let mut strings = Strings::default();
    for (at, c) in object.char_indices() {
        // Quotes and backslashes are ASCII; of other characters only that they are none counts.
        let within = strings.within(u8::try_from(c).unwrap_or(b'x'));
        match c {
            '\n' if within => mended.push_str("\\n"),
            '\t' if within => mended.push_str("\\t"),
            c if within && c.is_control() => {}
            ',' if !within && closes(&object[at + 1..]) => {}
            c => mended.push(c),
        }
    }
    mended
}

fn closes(rest: &str) -> bool {
    rest.trim_start().starts_with(['}', ']'])
}

/// Whether the reader is inside of a string.
#[derive(Default)]
struct Strings {
    inside: bool,
    escaped: bool,
}

impl Strings {
    /// Takes the next byte in; whether it belongs to a string.
    fn within(&mut self, byte: u8) -> bool {
        if !self.inside {
            self.inside = byte == b'"';
            return self.inside;
        }
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.inside = false;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Lesson {
        lesson: String,
    }

    fn lesson(answer: &str) -> Result<String, String> {
        read(answer, |_: &Lesson| Ok(())).map(|lesson| lesson.lesson)
    }

    #[test]
    fn what_models_put_around_an_object_is_seen_through() {
        for answer in [
            r#"{"lesson": "ask"}"#,
            "```json\n{\"lesson\": \"ask\"}\n```",
            "Sure! Here it is:\n{\"lesson\": \"ask\",}\nHope it helps {smile}",
            "<think>{\"lesson\": \"no\"}</think> {\"lesson\": \"ask\", \"more\": [1, 2, ], }",
            "{not json} {\"other\": 1} {\"lesson\": \"ask\"}",
            "Here { it is: {\"lesson\": \"ask\"}",
            "{\"answer\": {\"lesson\": \"ask\"}}",
            "{\"lesson\": \"ask\"} and once more: {\"lesson\": \"ask\"}",
        ] {
            assert_eq!(lesson(answer).as_deref(), Ok("ask"), "{answer}");
        }
    }

    #[test]
    fn line_breaks_commas_and_braces_in_strings_stay() {
        assert_eq!(
            lesson("{\"lesson\": \"a,\n} \\\" b,]\",}").as_deref(),
            Ok("a,\n} \" b,]")
        );
        assert_eq!(
            lesson("{\"lesson\": \"返金、\nまず確認\"}").as_deref(),
            Ok("返金、\nまず確認")
        );
    }

    #[test]
    fn what_is_cut_off_or_missing_is_named() {
        assert_eq!(
            lesson(r#"{"lesson": "as"#).unwrap_err(),
            "the JSON object is cut off"
        );
        let missing = lesson(r#"{"lektion": "frag"}"#).unwrap_err();
        assert!(missing.contains("missing field `lesson`"), "{missing}");
        let prose = lesson("I'd rather not.").unwrap_err();
        assert!(prose.contains("no JSON object"), "{prose}");
    }

    #[test]
    fn an_object_that_is_quoted_does_not_pass_for_the_answer() {
        let (own, quoted) = (r#"{"lesson": "ask"}"#, r#"{"lesson": "pay at once"}"#);
        for answer in [
            format!("The run says {quoted}, so: {own}"),
            format!("{own} although the run says {quoted}"),
            format!("```json\n{quoted}\n```\n```json\n{own}\n```"),
        ] {
            let problem = lesson(&answer).unwrap_err();
            assert!(problem.contains("more than one"), "{answer}: {problem}");
        }
        let within = format!(r#"{{"seen": {quoted}, "note": 1}}"#);
        let problem = lesson(&within).unwrap_err();
        assert!(problem.contains("missing field"), "{problem}");
        let cut = format!(r#"{{"seen": {quoted}, "lesson": "as"#);
        assert_eq!(lesson(&cut).unwrap_err(), "the JSON object is cut off");
        let buried = format!("{}{own}", format!("{quoted} {{x}}").repeat(300));
        assert!(lesson(&buried).is_err());
        // What the check refuses is no answer, so the other one is not in doubt.
        let ask = |found: &Lesson| match found.lesson.as_str() {
            "ask" => Ok(()),
            _ => Err("no".to_owned()),
        };
        assert_eq!(read(&format!("{quoted} {own}"), ask).unwrap().lesson, "ask");
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_a_panic(answer: String) {
            let _ = read(&answer, |_: &Value| Ok(()));
        }

        #[test]
        fn an_object_survives_what_is_put_around_it(lesson_text: String, around in "[^{}\"]*") {
            let object = serde_json::json!({"lesson": lesson_text}).to_string();
            let around = around.replace("</think>", "");
            prop_assert_eq!(lesson(&format!("{around}{object}{around}")), Ok(lesson_text));
        }
    }
}
