//! The verdict of one line.

use super::words::{Word, is_markup, words};

/// Words that start a reason without punctuation, as in "success because …".
const REASON: &str = "because since as";
/// The part of a line in which a verdict is searched, in characters.
const MAX_LINE: usize = 200;

pub(super) struct LineVerdict<'a> {
    pub(super) success: bool,
    /// The rest of the line; empty if it has no words.
    pub(super) reason: &'a str,
}

/// The verdict of a line, if it starts with one.
///
/// The first word, after markup and words like "verdict", must be SUCCESS, PASS, FAILURE or FAIL in
/// any case, and stand as a verdict: alone, before punctuation or a reason, or in capitals before a
/// new sentence. "Success would need a test" is not a verdict, nor is "SUCCESS NOT ACHIEVED".
pub(super) fn read(line: &str) -> Option<LineVerdict<'_>> {
    let words = words(line, MAX_LINE);
    let mut rest = words.as_slice();
    while let [word, after @ ..] = rest {
        let follows_lead = rest.len() < words.len();
        if !(word.leads() || follows_lead && word.is_one_of("is")) {
            break;
        }
        rest = after;
    }
    let (success, last) = match rest {
        [not, after @ ..] if not.is_one_of("not no") => (false, negated(after)?),
        [verdict, after @ ..] => {
            let success = verdict.verdict()?;
            if is_question(verdict, after) || !stands(verdict, success, after) {
                return None;
            }
            match denial(verdict, after).filter(|_| success) {
                Some(denial) => (false, denial),
                None => (success, verdict),
            }
        }
        [] => return None,
    };
    Some(LineVerdict {
        success,
        reason: reason(&line[last.end..]),
    })
}

/// The word that "not" or "no" makes a failure: "not a success", "no pass", "not successful".
fn negated<'a>(words: &'a [Word<'a>]) -> Option<&'a Word<'a>> {
    let word = words.iter().find(|word| !word.is_one_of("a an"))?;
    let lower = word.text.to_ascii_lowercase();
    (lower.starts_with("success") || lower.starts_with("pass")).then_some(word)
}

/// "SUCCESS/FAILURE" and "success or failure" repeat the question, and so does "Success?".
fn is_question(verdict: &Word<'_>, after: &[Word<'_>]) -> bool {
    let offered = match after {
        [or, other, ..] if or.is_one_of("or") => other.verdict(),
        [other, ..] if matches!(verdict.then, Some('/' | '|' | '\\')) => other.verdict(),
        _ => None,
    };
    offered.is_some() || verdict.then == Some('?')
}

/// Whether the word is a verdict rather than the start of a sentence. A failure may be any sentence
/// that starts in capitals.
fn stands(verdict: &Word<'_>, success: bool, after: &[Word<'_>]) -> bool {
    match after.first() {
        Some(next) if verdict.runs_on() => {
            let in_capitals = verdict.is_in_capitals() && (!success || next.opens_sentence());
            in_capitals || next.is_one_of(REASON)
        }
        _ => true,
    }
}

/// The word that denies a verdict as its value: "Success: false", or "success = no" with nothing
/// after it.
fn denial<'a>(verdict: &Word<'_>, after: &'a [Word<'a>]) -> Option<&'a Word<'a>> {
    let (next, rest) = after.split_first()?;
    let denies = match rest {
        [] => next.is_one_of("false no none 0"),
        _ => next.is_one_of("false"),
    };
    (denies && matches!(verdict.then, Some(':' | '='))).then_some(next)
}

/// The rest of a line after its verdict, without the punctuation in between.
fn reason(rest: &str) -> &str {
    let separates = |c: char| (is_markup(c) && !"\"“([`".contains(c)) || ":=.,;!?-–—/|".contains(c);
    let reason = rest.trim_start_matches(separates).trim_end();
    if reason.contains(char::is_alphanumeric) {
        reason
    } else {
        ""
    }
}
