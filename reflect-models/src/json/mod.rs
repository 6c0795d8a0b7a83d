//! JSON objects in answers of models that do not keep to JSON.
//!
//! [`read`] is for an answer that should be one object, [`find`] for a text that may hold one. Both skip
//! thoughts, fences and prose around an object, and repair trailing commas and raw line breaks.

mod candidates;
mod object;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use self::candidates::{Candidates, Flaw};
use crate::{think, tokens};

/// How much of an answer without an object is quoted, in tokens.
const QUOTED_TOKENS: usize = 50;

/// The one object in the answer that is a `T` and passes the check; the problem otherwise, worded for
/// the model.
///
/// A model may quote an object of the same form from its prompt, and which one it means cannot be
/// decided, so objects that differ are a problem.
///
/// ```
/// use reflect_models::json;
/// use serde::Deserialize;
///
/// #[derive(Deserialize)]
/// struct Point {
///     x: i32,
/// }
///
/// let check = |point: &Point| match point.x {
///     0.. => Ok(()),
///     _ => Err("`x` is negative".to_owned()),
/// };
/// let answer = "<think>{\"x\": 1}?</think>Here it is:\n```json\n{\"x\": 2,}\n```";
/// assert_eq!(json::read(answer, check).unwrap().x, 2);
/// assert!(json::read("{\"x\": -1}", check).is_err());
/// assert!(json::read("{\"x\": 1} or {\"x\": 2}", check).is_err());
/// ```
pub fn read<T: DeserializeOwned>(
    answer: &str,
    check: impl Fn(&T) -> Result<(), String>,
) -> Result<T, String> {
    let answer = think::strip(answer);
    let mut problem = None;
    let mut found: Option<(Value, T)> = None;
    let mut candidates = Candidates::new(&answer);
    while let Some(candidate) = candidates.next() {
        let value = match candidate {
            Ok(object) => Value::Object(object),
            Err(flaw @ Flaw::TooMuch) => return Err(flaw.to_string()),
            Err(flaw) => {
                if matches!(flaw, Flaw::CutOff) {
                    // An object within does not stand for the whole.
                    candidates.end_if_begun();
                }
                problem.get_or_insert_with(|| flaw.to_string());
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
                if is_wrapper(&value) {
                    candidates.enter();
                }
            }
        }
    }
    match found {
        Some((_, usable)) => Ok(usable),
        None => Err(problem.unwrap_or_else(|| {
            let quoted = tokens::one_line(&answer, QUOTED_TOKENS);
            format!("there is no JSON object in `{quoted}`")
        })),
    }
}

/// The first object in the text that `wanted` accepts, outer before inner.
///
/// An object within one that is malformed or cut off counts.
///
/// ```
/// use reflect_models::json;
///
/// let text = "Verdict: {\"result\": {\"success\": true, \"score\": 1}}";
/// let found = json::find(text, |fields| fields.contains_key("success")).unwrap();
/// assert_eq!(found["score"], 1);
/// ```
pub fn find(
    text: &str,
    wanted: impl Fn(&Map<String, Value>) -> bool,
) -> Option<Map<String, Value>> {
    let text = think::strip(text);
    Candidates::new(&text)
        .filter_map(Result::ok)
        .find_map(|object| first_wanted(object, &wanted))
}

/// The object, or the first object within it. The parser admits 128 levels, which bounds the recursion.
fn first_wanted(
    object: Map<String, Value>,
    wanted: &impl Fn(&Map<String, Value>) -> bool,
) -> Option<Map<String, Value>> {
    if wanted(&object) {
        return Some(object);
    }
    object
        .into_iter()
        .find_map(|(_, value)| first_within(value, wanted))
}

fn first_within(
    value: Value,
    wanted: &impl Fn(&Map<String, Value>) -> bool,
) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => first_wanted(object, wanted),
        Value::Array(items) => items
            .into_iter()
            .find_map(|item| first_within(item, wanted)),
        _ => None,
    }
}

/// Whether an object only holds another, as in `{"answer": {…}}`.
fn is_wrapper(value: &Value) -> bool {
    value.as_object().is_some_and(|object| object.len() == 1)
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
    fn text_around_an_object_is_skipped() {
        for answer in [
            r#"{"lesson": "ask"}"#,
            "```json\n{\"lesson\": \"ask\"}\n```",
            "Sure! Here it is:\n{\"lesson\": \"ask\",}\nHope it helps {smile}",
            "{\"lesson\": \"ask\"} <thinking>{\"lesson\": \"no\"}</thinking>",
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
    fn an_object_that_is_cut_off_or_incomplete_is_named() {
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
    fn a_quoted_object_does_not_pass_for_the_answer() {
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
        // An object that the check refuses is not an answer, so the other one is unambiguous.
        let ask = |found: &Lesson| match found.lesson.as_str() {
            "ask" => Ok(()),
            _ => Err("no".to_owned()),
        };
        assert_eq!(read(&format!("{quoted} {own}"), ask).unwrap().lesson, "ask");
    }

    #[test]
    fn an_object_in_an_unfinished_thought_is_not_an_answer() {
        assert!(lesson("<think>Maybe {\"lesson\": \"ask\"}").is_err());
    }

    fn found(text: &str) -> Option<Value> {
        find(text, |fields| fields.contains_key("k")).map(Value::Object)
    }

    #[test]
    fn the_first_wanted_object_is_found_outer_before_inner() {
        assert_eq!(found(r#"{"k": {"k": 1}}"#).unwrap()["k"]["k"], 1);
        assert_eq!(found(r#"{"x": [{"k": 2}]} {"k": 3}"#).unwrap()["k"], 2);
        assert_eq!(found(r#"{"x": {"k": 4}, oops}"#).unwrap()["k"], 4);
        assert_eq!(found(r#"{"k": 5,}"#).unwrap()["k"], 5);
        assert_eq!(found(r#"{"x": {"k": 6}"#).unwrap()["k"], 6);
        assert_eq!(found("no object"), None);
    }

    proptest! {
        #[test]
        fn any_answer_is_read_without_a_panic(answer: String) {
            let _ = read(&answer, |_: &Value| Ok(()));
        }

        #[test]
        fn an_object_survives_what_is_put_around_it(lesson_text: String, around in "[^{}\"]*") {
            let object = serde_json::json!({"lesson": lesson_text}).to_string();
            let around = around.replace('<', "");
            prop_assert_eq!(lesson(&format!("{around}{object}{around}")), Ok(lesson_text));
        }
    }
}
