use serde_json::{Map, Value};

use super::Evaluation;
use super::think::without_thoughts;
use crate::reflection::json::find_object;

/// Words that may stand before the verdict: `Final verdict: SUCCESS`.
const LEAD: [&str; 8] = [
    "the",
    "my",
    "final",
    "verdict",
    "evaluation",
    "result",
    "status",
    "answer",
];
/// Words by which a reason follows the verdict without punctuation: `success because …`.
const REASON: [&str; 3] = ["because", "since", "as"];
/// How much of a line is looked at, in characters: a verdict stands at its beginning.
const MAX_LINE: usize = 200;

/// Reads an evaluator's reply.
///
/// Thoughts are left out. Then three places are looked at: a JSON object with a boolean `success`;
/// the first line; the last line. A line is a verdict if its first word, after markup and words
/// like "verdict", is SUCCESS, PASS, FAILURE or FAIL in any case, and stands as a verdict: alone,
/// in capitals, or before punctuation or a reason. So prose such as "Success would need a test" is
/// none, and neither are "successful" and "unsuccessful". No verdict, or verdicts that contradict
/// each other, are a failure that is marked unclear: doubt is never read as a pass.
pub(super) fn read(reply: &str) -> Evaluation {
    let answer = without_thoughts(reply);
    let json = find_object(&answer, |fields| {
        fields.get("success").is_some_and(Value::is_boolean)
    });
    let (first, last) = first_and_last_line(answer.trim());
    let (first, last) = (line_verdict(first), last.and_then(line_verdict));

    let stated = json.as_ref().and_then(|fields| fields["success"].as_bool());
    let verdicts: Vec<bool> = [stated, first, last].into_iter().flatten().collect();
    let unclear = verdicts.is_empty() || verdicts.windows(2).any(|pair| pair[0] != pair[1]);
    if unclear {
        let mut evaluation = Evaluation::fail(feedback_or_reply(&answer, reply));
        evaluation.unclear = true;
        return evaluation;
    }
    let evaluation = match json {
        Some(fields) => from_json(&fields),
        None => Evaluation::from(false).feedback(answer.trim()),
    };
    Evaluation {
        success: verdicts[0],
        ..evaluation
    }
}

fn from_json(fields: &Map<String, Value>) -> Evaluation {
    let feedback = fields.get("feedback").and_then(Value::as_str);
    Evaluation {
        score: fields.get("score").and_then(Value::as_f64),
        feedback: feedback.unwrap_or_default().trim().to_owned(),
        ..Evaluation::default()
    }
    .checked()
}

/// A reply that is all thought has no answer; the thoughts are better than nothing.
fn feedback_or_reply<'a>(answer: &'a str, reply: &'a str) -> &'a str {
    match answer.trim() {
        "" => reply.trim(),
        answer => answer,
    }
}

/// The first line of a text without blank ends, and the last if it is another.
fn first_and_last_line(text: &str) -> (&str, Option<&str>) {
    let first = text.split('\n').next().unwrap_or_default();
    let last = text.rsplit_once('\n').map(|(_, last)| last);
    (first, last)
}

/// What a line says as a verdict, if it is one.
fn line_verdict(line: &str) -> Option<bool> {
    let words = words(line);
    let mut rest = words.as_slice();
    while let [word, after @ ..] = rest {
        let led = rest.len() < words.len();
        let leads = word.is_one_of(&LEAD) || (led && word.is_one_of(&["is"]));
        if !leads {
            break;
        }
        rest = after;
    }
    match rest {
        [not, after @ ..] if not.is_one_of(&["not", "no"]) => negated(after),
        [verdict, after @ ..] => {
            let success = verdict.outcome()?;
            if verdict.is_question(after) || !verdict.stands_alone(after) {
                return None;
            }
            Some(success && !verdict.is_denied(after))
        }
        [] => None,
    }
}

/// "Not a success", "no pass", "not successful": a failure.
fn negated(words: &[Word<'_>]) -> Option<bool> {
    let word = words.iter().find(|word| !word.is_one_of(&["a", "an"]))?;
    let lower = word.text.to_ascii_lowercase();
    (lower.starts_with("success") || lower.starts_with("pass")).then_some(false)
}

struct Word<'a> {
    text: &'a str,
    /// What follows, markup and spaces aside.
    then: Option<char>,
}

impl Word<'_> {
    fn outcome(&self) -> Option<bool> {
        if self.is_one_of(&["success", "pass"]) {
            Some(true)
        } else if self.is_one_of(&["failure", "fail"]) {
            Some(false)
        } else {
            None
        }
    }

    fn is_one_of(&self, known: &[&str]) -> bool {
        known
            .iter()
            .any(|known| self.text.eq_ignore_ascii_case(known))
    }

    /// "SUCCESS/FAILURE" and "success or failure" repeat the question, and so does "Success?".
    fn is_question(&self, after: &[Word<'_>]) -> bool {
        let offered = match after {
            [or, other, ..] if or.is_one_of(&["or"]) => other.outcome(),
            [other, ..] if matches!(self.then, Some('/' | '|' | '\\')) => other.outcome(),
            _ => None,
        };
        offered.is_some() || self.then == Some('?')
    }

    /// Whether the word is a verdict rather than the beginning of a sentence.
    fn stands_alone(&self, after: &[Word<'_>]) -> bool {
        let before_word = self.then.is_some_and(char::is_alphanumeric);
        !before_word
            || self.text.chars().all(char::is_uppercase)
            || after.first().is_some_and(|next| next.is_one_of(&REASON))
    }

    /// "Success: false", or "success = no" with nothing after it.
    fn is_denied(&self, after: &[Word<'_>]) -> bool {
        matches!(self.then, Some(':' | '='))
            && match after {
                [next] => next.is_one_of(&["false", "no", "none", "0"]),
                [next, ..] => next.is_one_of(&["false"]),
                [] => false,
            }
    }
}

/// The first words of a line. A brace ends it, so that a line of JSON has none.
fn words(line: &str) -> Vec<Word<'_>> {
    let end = line
        .char_indices()
        .nth(MAX_LINE)
        .map_or(line.len(), |(at, _)| at);
    let mut rest = line[..end].split(['{', '}']).next().unwrap_or_default();
    let mut words = Vec::new();
    while let Some(start) = rest.find(char::is_alphanumeric) {
        let word = &rest[start..];
        let (text, after) = word.split_at(word_end(word));
        let then = after.chars().find(|c| !is_markup(*c));
        words.push(Word { text, then });
        rest = after;
    }
    words
}

fn is_markup(c: char) -> bool {
    c.is_whitespace() || "*_`#>\"'“”()[]~".contains(c)
}

/// Where the word ends that the text begins with; a hyphen or apostrophe inside is part of it.
fn word_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let joins = "-'’_".contains(c) && next.is_some_and(char::is_alphanumeric);
        if !c.is_alphanumeric() && !joins {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_verdict(reply: &str, success: bool) {
        let evaluation = read(reply);
        assert_eq!(evaluation.success, success, "{reply:?}");
        assert!(!evaluation.unclear, "{reply:?}");
    }

    #[track_caller]
    fn assert_unclear(reply: &str) {
        let evaluation = read(reply);
        assert!(evaluation.unclear && !evaluation.success, "{reply:?}");
        assert_eq!(evaluation.feedback, reply.trim());
    }

    // Row 14.
    #[test]
    fn the_verdict_is_a_whole_word_at_the_beginning() {
        for reply in [
            "SUCCESS",
            "success.",
            "Pass: all tests are green",
            "SUCCESS The answer is right",
            "Success because the file exists",
            "**SUCCESS**: done",
            "> `PASS`",
            "# Verdict: SUCCESS\n\nIt works.",
            "Final verdict is \"Success\".",
            "The final answer: PASS",
            "Result - success",
            "[SUCCESS]",
            "✅ SUCCESS",
            "SUCCESS: no errors were found",
            "\n\n  SUCCESS\r\nfine",
        ] {
            assert_verdict(reply, true);
        }
        for reply in [
            "FAILURE: did not successfully finish",
            "fail",
            "Failure - the row is missing, so it is not a SUCCESS",
            "Verdict: FAIL",
            "NOT SUCCESS",
            "Not a success: the file is empty",
            "not successful",
            "No pass.",
            "Success: false",
            "SUCCESS = no",
        ] {
            assert_verdict(reply, false);
        }
    }

    // Row 14.
    #[test]
    fn the_last_line_counts_where_the_first_says_nothing() {
        assert_verdict("I looked at the file.\nIt is right.\n\nSUCCESS\n", true);
        assert_verdict(
            "Unsuccessful attempts came first.\nVerdict: **FAILURE**",
            false,
        );
    }

    // Row 15.
    #[test]
    fn no_verdict_or_both_is_a_failure_that_is_marked() {
        for reply in [
            "",
            "  \n ",
            "successful",
            "Successfully done!",
            "unsuccessful",
            "The task was a success.",
            "Success would need a test",
            "passable",
            "PASS-THROUGH is on",
            "success_criteria: met",
            "SUCCESS/FAILURE",
            "Success or failure?",
            "Success?",
            "SUCCESS\nOn second thought:\nFAILURE: the file is empty",
            "FAILURE\n\nSUCCESS",
            "SUCCESS {\"success\": false}",
            "成功",
            "Erfolg",
            "{\"success\": \"yes\"}",
            "{\"success\": false, oops",
        ] {
            assert_unclear(reply);
        }
    }

    #[test]
    fn prose_on_the_last_line_contradicts_nothing() {
        assert_verdict("SUCCESS\nFail cases were handled as well", true);
    }

    // Row 16.
    #[test]
    fn thoughts_before_the_verdict_do_not_count() {
        assert_verdict("<think>SUCCESS? No.</think>FAILURE: empty", false);
        assert_verdict("<think>FAILURE, I think\n</think>\nSUCCESS", true);
        assert_verdict("it may be a FAILURE\n</think>\nSUCCESS", true);
        assert_eq!(read("<think>a</think>FAILURE: b").feedback, "FAILURE: b");
        assert!(read("<think>SUCCESS").unclear);
    }

    // Row 17.
    #[test]
    fn a_verdict_in_json_is_read_with_score_and_feedback() {
        let reply =
            "```json\n{\"success\": false, \"score\": 0.25, \"feedback\": \" off by {1} \"}\n```";
        let evaluation = read(reply);
        assert_eq!(evaluation, Evaluation::fail("off by {1}").score(0.25),);
        assert_eq!(read(r#"{"success": true}"#), Evaluation::pass());
        assert_verdict("{\n  \"success\": true,\n  \"score\": 1\n}", true);
    }

    // Row 18.
    #[test]
    fn a_score_that_is_no_number_is_no_score() {
        assert_eq!(read(r#"{"success": true, "score": "high"}"#).score, None);
        assert_eq!(read("SUCCESS").score, None);
        for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Evaluation::pass().score(score).score, None);
        }
        assert_eq!(Evaluation::pass().score(0.0).score, Some(0.0));
    }
}
