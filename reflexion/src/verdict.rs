//! Reading the verdict in an evaluator's reply.

use std::cell::RefCell;

use reflect_models::{json, think};
use serde_json::{Map, Value};

use crate::evaluation::Evaluation;

const SUCCESS: [&str; 2] = ["success", "pass"];
const FAILURE: [&str; 2] = ["failure", "fail"];
/// Words that may stand before a verdict.
const LEAD: [&str; 3] = ["final", "result", "verdict"];

/// Reads an evaluator's reply: the JSON that it was asked for, or else a bare word.
///
/// Doubt is never a pass: a reply without a verdict, or with verdicts that contradict each other, is a
/// failure marked unclear.
pub(crate) fn read(reply: &str) -> Evaluation {
    let answer = think::strip(reply);
    let answer = answer.trim();
    let verdicts = verdicts(answer);
    let (success, feedback, score) = match verdicts.first() {
        Some(fields) => (success(fields), feedback(fields), fields.get("score")),
        None => (stated(answer), reason(answer), None),
    };
    let says = |verdict: Option<bool>| verdict.is_none() || verdict == success;
    let agree = verdicts.iter().all(|fields| says(self::success(fields)));
    match success {
        Some(success) if agree && says(stated(answer)) && says(stated(feedback)) => Evaluation {
            success,
            score: score.and_then(Value::as_f64),
            ..Evaluation::fail(feedback)
        }
        .checked(),
        _ => Evaluation {
            unclear: true,
            // A reply that is all thought has no other feedback.
            ..Evaluation::fail(if answer.is_empty() {
                reply.trim()
            } else {
                answer
            })
        },
    }
}

/// Whether a text is blank or nothing but a verdict, such as "Result: FAILURE". Such a text teaches
/// nothing.
pub(crate) fn is_bare(text: &str) -> bool {
    let known = [&SUCCESS[..], &FAILURE, &LEAD].concat();
    words(text).all(|word| known.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// The JSON objects with a verdict.
fn verdicts(answer: &str) -> Vec<Map<String, Value>> {
    let found = RefCell::new(Vec::new());
    // Accepts none, so that all are visited.
    json::find(answer, |fields| {
        if success(fields).is_some() {
            found.borrow_mut().push(fields.clone());
        }
        false
    });
    found.into_inner()
}

fn success(fields: &Map<String, Value>) -> Option<bool> {
    fields.get("success")?.as_bool()
}

fn feedback(fields: &Map<String, Value>) -> &str {
    let feedback = fields.get("feedback").and_then(Value::as_str);
    feedback.unwrap_or_default().trim()
}

/// The verdict of a text without JSON: a failure if it begins with that word, and a success if it has no
/// other.
fn stated(text: &str) -> Option<bool> {
    let mut words = words(text).skip_while(|word| is_one_of(word, &LEAD));
    let first = words.next()?;
    if is_one_of(first, &FAILURE) {
        return Some(false);
    }
    (is_one_of(first, &SUCCESS) && words.next().is_none()).then_some(true)
}

/// What follows the verdict.
fn reason(text: &str) -> &str {
    let verdict = words(text).find(|word| !is_one_of(word, &LEAD));
    let rest = verdict.and_then(|word| text.split_once(word));
    let separates = |c: char| c.is_whitespace() || "*_:=.,;!?-–—/|>#]".contains(c);
    rest.map_or("", |(_, rest)| {
        rest.trim_start_matches(separates).trim_end()
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| !(c.is_alphanumeric() || "-_'’".contains(c));
    let words = text
        .split(ends)
        .map(|word| word.trim_matches(['-', '_', '\'', '’']));
    words.filter(|word| !word.is_empty())
}

fn is_one_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_verdict(reply: &str, success: bool, feedback: &str) {
        let evaluation = read(reply);
        assert_eq!(evaluation.success, success, "{reply:?}");
        assert!(!evaluation.unclear, "{reply:?}");
        assert_eq!(evaluation.feedback, feedback, "{reply:?}");
    }

    #[test]
    fn a_json_verdict_has_score_and_feedback() {
        let reply =
            "```json\n{\"feedback\": \" off by {1} \", \"score\": 0.25, \"success\": false}\n```";
        assert_eq!(read(reply), Evaluation::fail("off by {1}").score(0.25));
        assert_eq!(read(r#"{"success": true}"#), Evaluation::pass());
        assert_eq!(read(r#"{"success": true, "score": "high"}"#).score, None);
        let reply = "I looked at the file.\n{\"feedback\": \"It is right.\", \"success\": true}";
        assert_verdict(reply, true, "It is right.");
    }

    #[test]
    fn a_score_that_cannot_be_compared_is_dropped() {
        for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Evaluation::pass().score(score).score, None);
        }
        assert_eq!(Evaluation::pass().score(0.0).score, Some(0.0));
    }

    #[test]
    fn without_json_a_bare_word_passes_and_a_reason_may_follow_a_failure() {
        for reply in [
            "SUCCESS",
            "success.",
            "**Pass**",
            "Verdict: PASS\n",
            "[SUCCESS]",
        ] {
            assert_verdict(reply, true, "");
        }
        for (reply, feedback) in [
            ("fail", ""),
            ("FAILURE: the wrong city", "the wrong city"),
            ("**FAILURE** - `a.txt` is empty", "`a.txt` is empty"),
            ("Final verdict: FAIL\nIt is empty.", "It is empty."),
        ] {
            assert_verdict(reply, false, feedback);
        }
    }

    #[test]
    fn doubt_is_an_unclear_failure() {
        for reply in [
            "",
            "  \n ",
            "successful",
            "SUCCESS: No, the file is missing.",
            "SUCCESS\n\nHowever, the file is missing.",
            "SUCCESS/FAILURE",
            "Success?? No.",
            "PASS-THROUGH is on",
            "The task was a success.",
            "Erfolg",
            "{\"success\": \"yes\"}",
            "{\"success\": false, oops",
            "{\"success\": true}\n{\"success\": false}",
            "FAILURE {\"success\": true}",
            "{\"success\": true, \"feedback\": \"FAILURE: the file is empty\"}",
        ] {
            let evaluation = read(reply);
            assert!(evaluation.unclear && !evaluation.success, "{reply:?}");
            assert_eq!(evaluation.feedback, reply.trim());
        }
    }

    #[test]
    fn thoughts_before_the_verdict_do_not_count() {
        assert_verdict("<think>SUCCESS</think>FAILURE: empty", false, "empty");
        assert_verdict(
            "<think>{\"success\": false}</think>{\"success\": true}",
            true,
            "",
        );
        assert!(read("<think>SUCCESS").unclear);
    }

    #[test]
    fn a_bare_verdict_differs_from_a_reflection() {
        for text in ["", " \n", "SUCCESS", "Result: FAILURE.", "**fail**"] {
            assert!(is_bare(text), "{text:?}");
        }
        for text in ["no", "FAILURE: the file is empty", "Pass the limit 3"] {
            assert!(!is_bare(text), "{text:?}");
        }
    }
}
