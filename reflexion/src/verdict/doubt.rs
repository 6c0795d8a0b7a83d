//! Words that deny a passing verdict.
//!
//! The lists err on the side of doubt: a pass taken for unclear costs a trial, a denial taken for a
//! pass ends the run with a wrong answer.

use super::line;
use super::words::{Word, words};

const NEGATIONS: &str = "\
    no not never none nothing nobody neither nor nope cannot zero nil null hardly barely";
/// A flaw in the next words makes these good news: "no errors", "without a mistake".
const ABSENCE: &str = "without free";
/// Words for something that is not as it should be.
const DEFICITS: &str = "\
    fail fails failed failing failure failures false unsuccessful unsuccessfully missing \
    misses missed wrong wrongly incorrect incorrectly incomplete inaccurate insufficient \
    unable unfinished unmet unresolved unfulfilled impossible broken lacks lacking omits \
    omitted ignores ignored violates violated rejected refused denied remain remains \
    remaining invalid untrue nonsense kidding";
/// Words for a flaw, which count only as what a negation rules out.
const FLAWS: &str = "\
    error errors issue issues problem problems mistake mistakes bug bugs defect defects flaw \
    flaws warning warnings violation violations discrepancy discrepancies omission omissions \
    objection objections concern concerns doubt doubts";
/// Words that limit or retract what they follow.
const RESERVATIONS: &str = "\
    but however although though except unless until if yet would could should might maybe \
    perhaps possibly probably supposedly allegedly claims claimed pending partial partially \
    partly almost nearly mostly somewhat unclear unknown uncertain unsure unverified \
    unlikely doubtful questionable tbd na";
/// Words that start a line which turns against the lines before it.
const TURNS: &str = "\
    but however although though except yet still actually wait correction unfortunately \
    sorry oops nevertheless on";
/// Words for a task that is done.
const ACHIEVEMENTS: &str = "\
    done complete completed achieved accomplished met fulfilled satisfied solved finished \
    reached verified confirmed correct correctly right success successful successfully \
    succeed succeeded pass passed answered working work";
/// The subjects of "the task failed".
const SUBJECTS: &str = "task agent attempt run answer trial it response";
/// How many words after a negation it reaches.
const REACH: usize = 3;
/// The part of a reason that is read, in characters.
const MAX_REASON: usize = 2_000;

/// Whether the reason beside a passing verdict denies it or casts doubt on it.
pub(super) fn denies(reason: &str) -> bool {
    reason.eq_ignore_ascii_case("n/a") || any_denial(&words(reason, MAX_REASON))
}

/// Whether the verdict is struck through, or marked with a cross.
pub(super) fn is_crossed_out(line: &str) -> bool {
    line.contains("~~") || line.contains(['❌', '✗', '✘', '✖', '🚫', '👎', '⛔'])
}

/// Whether another line of the reply takes a passing verdict back: it states a failure, turns
/// ("However, …"), answers "No.", or says that the task is not done.
pub(super) fn retracts(line: &str) -> bool {
    if line::read(line).is_some_and(|verdict| !verdict.success) {
        return true;
    }
    let words = words(line, MAX_REASON);
    let Some((first, rest)) = words.split_first() else {
        return false;
    };
    let exclaims = !first.runs_on() || (first.is_in_capitals() && first.text.len() > 1);
    (first.is_one_of(TURNS) && any_denial(rest))
        || (exclaims && (first.is_negation() || first.is_one_of(DEFICITS)))
        || is_said_undone(&words)
}

fn any_denial(words: &[Word<'_>]) -> bool {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let ruled_out = || {
            reached(words, at, |word| {
                word.is_one_of(FLAWS) || word.is_one_of(DEFICITS)
            })
        };
        at = match (word.is_negation(), word.is_one_of(ABSENCE)) {
            (true, _) => match ruled_out() {
                Some(flaw) => flaw,
                None => return true,
            },
            (false, true) => ruled_out().unwrap_or(at),
            _ if word.is_one_of(DEFICITS) || word.is_one_of(RESERVATIONS) => return true,
            _ => at,
        } + 1;
    }
    false
}

/// Whether a negation reaches a word like "done", or a subject is said to have failed.
fn is_said_undone(words: &[Word<'_>]) -> bool {
    let negated = |at: usize| {
        words[at].is_negation() && reached(words, at, |word| word.is_one_of(ACHIEVEMENTS)).is_some()
    };
    let failed = |pair: &[Word<'_>]| {
        pair[0].is_one_of(SUBJECTS)
            && pair[1].is_one_of("failed fails unsuccessful incomplete incorrect")
    };
    (0..words.len()).any(negated)
        || words.windows(2).any(failed)
        || words.iter().any(|word| word.is_one_of("unsuccessful"))
}

/// The first word that a negation at `from` reaches within its clause.
fn reached(words: &[Word<'_>], from: usize, wanted: impl Fn(&Word<'_>) -> bool) -> Option<usize> {
    (from + 1..=from + REACH)
        .take_while(|at| words[at - 1].runs_on() && *at < words.len())
        .find(|at| wanted(&words[*at]))
}

impl Word<'_> {
    fn is_negation(&self) -> bool {
        let lower = self.text.to_lowercase();
        // "0 of 5", "0/5" and "0%", but not "3:0".
        let is_zero = self.text == "0"
            && self
                .then
                .is_some_and(|c| c.is_alphabetic() || "/%".contains(c));
        is_zero || self.is_one_of(NEGATIONS) || lower.ends_with("n't") || lower.ends_with("n’t")
    }
}
