//! What a run did, seen from its end: which tools, what failed, what was changed, what was said.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::call::{Call, only_looks_up, only_thinks};
use super::failure::{error_in, error_of};
use super::rules::stems;
use super::steps::Step;
use crate::model::prose::{clean, has_word, sentences};

/// A run, boiled down.
#[derive(Debug, Default)]
pub(super) struct Account<'a> {
    calls: Vec<Call<'a>>,
    /// Whether the run shows any answer of a tool; some keep only the calls.
    shows_answers: bool,
    /// What the agent said, with how many calls it had made by then.
    said: Vec<(usize, Cow<'a, str>)>,
}

/// A call that failed, and what became of it.
#[derive(Debug)]
pub(super) struct Failure<'a, 'b> {
    pub(super) call: &'b Call<'a>,
    pub(super) error: &'b str,
    /// How often the tool failed in this run.
    pub(super) times: usize,
    /// A later call of the same tool that succeeded.
    pub(super) overcome_by: Option<&'b Call<'a>>,
    /// The arguments that the later, successful call had changed.
    pub(super) changed: Vec<String>,
}

impl<'a> Account<'a> {
    pub(super) fn of(steps: Vec<Step<'a>>) -> Self {
        let mut account = Self::default();
        let mut open: HashMap<&str, usize> = HashMap::new();
        // Where the calls begin that an answer without an id may belong to.
        let mut together = 0;
        let mut was_answer = false;
        for step in steps {
            let is_answer = matches!(step, Step::Answered { .. });
            if was_answer && !is_answer {
                together = account.calls.len();
            }
            was_answer = is_answer;
            match step {
                Step::Said(text) => {
                    together = account.calls.len();
                    account.said.push((account.calls.len(), text));
                }
                Step::Called {
                    id,
                    tool,
                    arguments,
                } => {
                    if let Some(id) = id {
                        open.insert(id, account.calls.len());
                    }
                    account.calls.push(Call {
                        has_id: id.is_some(),
                        ..Call::new(tool, arguments)
                    });
                }
                Step::Answered { id, text, is_error } => {
                    let named = id.and_then(|id| open.get(id).copied());
                    let waiting = || {
                        let mut calls = account.calls[together..].iter();
                        calls
                            .position(|call| !call.answered)
                            .map(|at| together + at)
                    };
                    let last = account.calls.len().checked_sub(1);
                    if let Some(call) = named.or_else(waiting).or(last) {
                        let call = &mut account.calls[call];
                        call.answered = true;
                        call.error = if is_error {
                            Some(error_of(&text))
                        } else {
                            error_in(&text)
                        };
                        account.shows_answers = true;
                    }
                }
            }
        }
        account
    }

    /// The tools in the order of their first use, with how often each was called.
    pub(super) fn tools(&self) -> Vec<(&str, usize)> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut tools: Vec<(&str, usize)> = Vec::new();
        for call in &self.calls {
            let place = *places.entry(&call.tool).or_insert(tools.len());
            match tools.get_mut(place) {
                Some((_, count)) => *count += 1,
                None => tools.push((&call.tool, 1)),
            }
        }
        tools
    }

    /// The last call that failed.
    pub(super) fn last_failure(&self) -> Option<Failure<'a, '_>> {
        let at = self.calls.iter().rposition(|call| call.error.is_some())?;
        let call = &self.calls[at];
        let same_tool = |other: &&Call<'_>| other.tool == call.tool;
        let mut later = self.calls[at + 1..]
            .iter()
            .filter(|call| self.happened(call));
        let later = later.find(same_tool);
        Some(Failure {
            call,
            error: call.error.as_deref().unwrap_or_default(),
            times: self.calls[..=at]
                .iter()
                .filter(same_tool)
                .filter(|call| call.error.is_some())
                .count(),
            overcome_by: later,
            changed: later.map_or_else(Vec::new, |later| call.changed_in(later)),
        })
    }

    /// The last call that did something, rather than look something up, and succeeded.
    pub(super) fn last_act(&self) -> Option<&Call<'a>> {
        self.acts().next_back()
    }

    /// The calls that did something and succeeded.
    pub(super) fn acts(&self) -> impl DoubleEndedIterator<Item = &Call<'a>> {
        self.calls
            .iter()
            .filter(|call| self.happened(call))
            .filter(|call| call.error.is_none() && !only_looks_up(&call.tool))
    }

    /// Whether the call came back: a run may be cut off in the middle of one.
    fn happened(&self, call: &Call<'_>) -> bool {
        call.answered || !call.has_id || !self.shows_answers
    }

    /// The tools that look something up, in the order of their first use.
    pub(super) fn lookups(&self) -> Vec<&str> {
        let tools = self.tools().into_iter().map(|(tool, _)| tool);
        tools
            .filter(|tool| only_looks_up(tool) && !only_thinks(tool))
            .collect()
    }

    /// The last call of all.
    pub(super) fn last_call(&self) -> Option<&Call<'a>> {
        self.calls.last()
    }

    /// A tool that was called over and over with the same arguments, and how often.
    pub(super) fn loop_of_calls(&self) -> Option<(&str, usize)> {
        const OFTEN: usize = 3;
        let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
        for call in &self.calls {
            *counts.entry((&call.tool, &call.arguments)).or_default() += 1;
        }
        // By the calls, not by the map, whose order changes.
        let often = |call: &&Call<'_>| counts[&(call.tool.as_str(), &*call.arguments)] >= OFTEN;
        let call = self.calls.iter().find(often)?;
        Some((&call.tool, counts[&(call.tool.as_str(), &*call.arguments)]))
    }

    /// What the agent said in the end, without courtesies; empty if it said nothing of substance.
    ///
    /// Many runs end with small talk, so a text counts if it speaks of the task, declines it, or is
    /// the first after a call.
    pub(super) fn outcome(&self, task: &str, final_response: &str) -> String {
        const MAX_BACK: usize = 16;
        const SHARED: usize = 3;
        let task: HashSet<String> = stems(task).collect();
        let counts = |at: usize, text: &str| {
            let first = at == 0 || self.said[at - 1].0 < self.said[at].0;
            let shared: HashSet<String> = stems(text).filter(|stem| task.contains(stem)).collect();
            first || shared.len() >= SHARED.min(task.len()) || declines(text)
        };
        let unsaid = substance(final_response);
        let heard = self.said.iter().rev().take(MAX_BACK);
        let heard: Vec<String> = heard.map(|(_, text)| substance(text)).collect();
        if !unsaid.is_empty() && !heard.contains(&unsaid) {
            return unsaid;
        }
        let last = self.said.len().saturating_sub(1);
        let telling = heard
            .iter()
            .enumerate()
            .find(|(back, text)| !text.is_empty() && counts(last - back, text));
        let telling = telling.map(|(_, text)| text);
        let any = heard.iter().find(|text| !text.is_empty());
        telling.or(any).map_or(unsaid, |text| from_the_point(text))
    }
}

/// A refusal from where it begins: what precedes it is sympathy.
fn from_the_point(text: &str) -> String {
    let sentences = sentences(text);
    let start = sentences.iter().position(|sentence| declines(sentence));
    sentences[start.unwrap_or(0)..].join(" ")
}

/// Whether the agent said that it would not or could not do it.
pub(super) fn declines(said: &str) -> bool {
    const MARKS: &[&str] = &[
        "unfortunately",
        "unable",
        "cannot",
        "can't",
        "sorry",
        "couldn't",
        "impossible",
        "won't",
    ];
    has_word(said, MARKS)
}

fn substance(text: &str) -> String {
    let text = clean(text);
    let said: Vec<&str> = sentences(&text)
        .into_iter()
        .filter(|sentence| !is_courtesy(sentence))
        .collect();
    said.join(" ")
}

fn is_courtesy(sentence: &str) -> bool {
    const PHRASES: &[&str] = &[
        "you're welcome",
        "you are welcome",
        "thank you",
        "thanks",
        "feel free",
        "have a great",
        "have a nice",
        "have a good",
        "have a wonderful",
        "anything else",
        "let me know",
        "safe travels",
        "happy to help",
        "happy to assist",
        "glad i could",
        "reach out",
        "further assistance",
        "need assistance",
        "enjoy your",
        "i hope you",
        "goodbye",
        "take care",
        "great day",
        "other questions",
        "further questions",
        "if you have any",
    ];
    // Up to a length at which no courtesy has other things to say.
    let sentence = sentence.replace('’', "'").to_lowercase();
    sentence.len() < 160 && PHRASES.iter().any(|phrase| sentence.contains(phrase))
}

#[cfg(test)]
mod tests {
    use reflect_types::{Message, ToolCall};

    use super::super::steps::steps;
    use super::*;

    fn call(id: &str, tool: &str, arguments: &str) -> Message {
        Message::tool_calls([ToolCall::new(id, tool, arguments)])
    }

    #[test]
    fn an_error_belongs_to_the_call_it_answers() {
        let run = [
            Message::tool_calls([
                ToolCall::new("1", "pay", "{}"),
                ToolCall::new("2", "get_user", "{}"),
            ]),
            Message::tool("2", "ok"),
            Message::tool("1", "Error: no money"),
        ];
        let account = Account::of(steps(&run));
        let failure = account.last_failure().unwrap();
        assert_eq!(
            (failure.call.tool.as_str(), failure.error),
            ("pay", "no money")
        );
        assert!(failure.overcome_by.is_none());
        assert!(account.last_act().is_none());
    }

    #[test]
    fn a_failure_that_was_overcome_names_what_changed() {
        let run = [
            call("1", "pay", r#"{"amount": 5, "card": "a", "note": "x"}"#),
            Message::tool("1", "Error: amount is 7"),
            call("2", "pay", r#"{"amount": 7, "card": "a"}"#),
            Message::tool("2", "paid"),
        ];
        let account = Account::of(steps(&run));
        let failure = account.last_failure().unwrap();
        assert!(failure.overcome_by.is_some());
        assert_eq!(failure.changed, ["amount", "note"]);
        assert_eq!(account.last_act().unwrap().shown(), "pay(amount=7, card=a)");
        assert_eq!(account.tools(), [("pay", 2)]);
    }

    #[test]
    fn the_outcome_is_the_last_thing_of_substance() {
        let run = [
            Message::assistant("The refund is 40 euros. Is there anything else?"),
            Message::assistant("You’re welcome! Safe travels!"),
        ];
        let account = Account::of(steps(&run));
        assert_eq!(
            account.outcome("Refund", "You’re welcome! Safe travels!"),
            "The refund is 40 euros."
        );
        assert_eq!(account.outcome("Refund", "Done: 41."), "Done: 41.");
    }

    #[test]
    fn the_same_call_over_and_over_is_noticed() {
        let run: Vec<Message> = (0..4).map(|_| call("1", "look", "{}")).collect();
        assert_eq!(Account::of(steps(&run)).loop_of_calls(), Some(("look", 4)));
        assert_eq!(Account::of(steps(&run[..2])).loop_of_calls(), None);
    }
}
