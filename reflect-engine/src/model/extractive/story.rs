//! The fields of a reflection, written from an account of the run.

use reflect_types::Reflection;

use super::account::{Account, Failure, declines};
use super::call::{only_looks_up, only_thinks};
use super::rules::{Situation, relevant_rule};
use crate::model::prose::{
    clean, condense, conditions, count_words, fits, has_word, quote, sentence, sentences, shorten,
};

// The most words of each field. With the four words of labels in `Reflection::text` they add up to
// `Extractive::MAX_WORDS`.
pub(super) const SUMMARY: usize = 40;
pub(super) const MISTAKE: usize = 32;
pub(super) const ACTION: usize = 20;
pub(super) const GUIDANCE: usize = 24;

/// The most tools that are named.
const MAX_TOOLS: usize = 32;

/// The material of a reflection.
pub(super) struct Story<'a, 'b> {
    pub(super) task: String,
    pub(super) outcome: String,
    pub(super) feedback: Feedback,
    pub(super) rules: String,
    pub(super) account: &'b Account<'a>,
}

/// The reviewer's feedback: the criticism, and the correction.
pub(super) struct Feedback {
    wrong: String,
    right: String,
}

impl Feedback {
    pub(super) fn read(feedback: &str) -> Self {
        const MARKS: &[&str] = &[
            "should", "must", "instead", "ought", "expected", "supposed", "always", "never", "use",
            "correct", "remember", "ensure", "needs", "need",
        ];
        let feedback = clean(feedback);
        let (right, wrong): (Vec<&str>, Vec<&str>) = sentences(&feedback)
            .into_iter()
            .partition(|sentence| has_word(sentence, MARKS));
        Self {
            wrong: wrong.join(" "),
            right: right.join(" "),
        }
    }
}

impl Story<'_, '_> {
    pub(super) fn failed(&self) -> Reflection {
        let failure = self.account.last_failure();
        let key_mistake = match (self.feedback.wrong.as_str(), &failure) {
            ("", _) => self.observed_mistake(failure.as_ref()),
            (wrong, None) => wrong.to_owned(),
            // Both, because the error is often the cause of the criticism.
            (wrong, Some(failure)) => {
                let failed = failed_with(failure, 12);
                let room = MISTAKE - count_words(&failed);
                format!("{} {failed}", sentence(&shorten(wrong, room)))
            }
        };
        Reflection {
            summary: self.summary("Failed"),
            key_mistake,
            correct_action: self.correct_action(failure.as_ref()),
            guidance: self.advice(failure.as_ref()),
            applicable_tools: self.tools_to_watch(failure.as_ref()),
            tools_used: self.tools_used(),
        }
    }

    pub(super) fn passed(&self, verdict: &str) -> Reflection {
        let failure = self.account.last_failure();
        let feedback = [self.feedback.right.as_str(), self.feedback.wrong.as_str()].join(" ");
        let guidance = match (feedback.trim(), &failure) {
            ("", None) => self.same_again(),
            ("", Some(failure)) => {
                let error = failed_with(failure, 12);
                format!("{error} {}", way_around(failure))
            }
            (feedback, _) => feedback.to_owned(),
        };
        Reflection {
            summary: self.summary(verdict),
            key_mistake: String::new(),
            correct_action: self.what_worked(),
            guidance,
            applicable_tools: self.tools_to_watch(failure.as_ref()),
            tools_used: self.tools_used(),
        }
    }

    fn summary(&self, verdict: &str) -> String {
        let tools = self.tool_list();
        let room = SUMMARY - 1 - count_words(&tools);
        let task = match self.task.as_str() {
            "" => "a task that was not described".to_owned(),
            task => condense(task, room),
        };
        format!("{verdict}: {} {tools}", sentence(&task))
    }

    fn tool_list(&self) -> String {
        const SHOWN: usize = 5;
        let mut tools = self.account.tools();
        let all = tools.len();
        tools.truncate(MAX_TOOLS);
        // Actions tell more than lookups, and lookups more than the scratch pad.
        for dull in [only_thinks, only_looks_up] {
            while let Some(at) = tools.iter().rposition(|(tool, _)| dull(tool))
                && tools.len() > SHOWN
            {
                tools.remove(at);
            }
        }
        tools.truncate(SHOWN);
        let shown = tools.iter().map(|(tool, count)| match count {
            1 => (*tool).to_owned(),
            count => format!("{tool} ({count}x)"),
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        match all - tools.len() {
            _ if all == 0 => "No tools used.".to_owned(),
            0 => format!("Tools: {shown}."),
            more => format!("Tools: {shown} and {more} more."),
        }
    }

    /// The mistake as far as the run shows it.
    fn observed_mistake(&self, failure: Option<&Failure<'_, '_>>) -> String {
        let act = self.account.last_act();
        if let Some(failure) = failure {
            let failed = failed_with(failure, 16);
            return match act {
                Some(act) => sentence(&format!("{failed} In the end it did {}", act.shown())),
                None if self.outcome.is_empty() => failed,
                None => self.ended_with(&format!("{failed} In the end it said:"), MISTAKE),
            };
        }
        if let Some((tool, times)) = self.account.loop_of_calls() {
            return format!("It called {tool} {times} times with the same arguments.");
        }
        let story = match (act, self.account.last_call()) {
            (Some(act), _) => format!(
                "No tool objected, but the result was wrong: {}, then:",
                act.shown()
            ),
            (None, None) if self.outcome.is_empty() => {
                return "It called no tool and said nothing.".to_owned();
            }
            (None, None) if declines(&self.outcome) => "It called no tool and declined:".to_owned(),
            // There may have been no tool to call.
            (None, None) => "This answer was wrong:".to_owned(),
            (None, Some(_)) if declines(&self.outcome) => {
                "It looked things up, changed nothing and declined:".to_owned()
            }
            (None, Some(_)) => "It looked things up, changed nothing and said:".to_owned(),
        };
        self.ended_with(&story, MISTAKE)
    }

    /// The story followed by the agent's last words, in at most `words` words.
    fn ended_with(&self, story: &str, words: usize) -> String {
        if self.outcome.is_empty() {
            return format!("{story} nothing.");
        }
        let said = shorten(&self.outcome, words);
        let ended = |room| format!("{story} {}", quote(&shorten(&said, room)));
        (1..words)
            .rev()
            .map(ended)
            .find(|text| fits(text, words))
            .unwrap_or_else(|| ended(1))
    }

    fn correct_action(&self, failure: Option<&Failure<'_, '_>>) -> String {
        if !self.feedback.right.is_empty() {
            return self.feedback.right.clone();
        }
        let tool = failure
            .map(|failure| failure.call)
            .or(self.account.last_act());
        let objection = match (self.feedback.wrong.as_str(), failure) {
            ("", Some(failure)) => failure.error,
            (wrong, _) => wrong,
        };
        let situation = Situation {
            objection,
            tool: tool.map_or("", |call| call.tool.as_str()),
            task: &self.task,
        };
        relevant_rule(&self.rules, situation)
            .map(|rule| format!("The rules say: {}", quote(&shorten(&rule, ACTION - 3))))
            .unwrap_or_default()
    }

    fn advice(&self, failure: Option<&Failure<'_, '_>>) -> String {
        if let Some(failure) = failure {
            return way_around(failure);
        }
        // Prefer a condition that the summary does not show.
        let shown = condense(&self.task, SUMMARY);
        let condition = conditions(&self.task)
            .find(|condition| !shown.contains(condition))
            .map(|condition| shorten(condition, GUIDANCE - 10));
        let check = match condition {
            Some(condition) => format!("check every condition, such as {}", quote(&condition)),
            None => "check every condition of the task".to_owned(),
        };
        match (self.account.last_act(), self.account.last_call()) {
            (_, None) if declines(&self.outcome) => {
                "Look up with the tools what is missing, before asking for it or giving up."
                    .to_owned()
            }
            (Some(act), _) => sentence(&format!("Before {}, {check}", act.tool)),
            (None, _) => sentence(&format!("Before answering, {check}")),
        }
    }

    fn what_worked(&self) -> String {
        match self.account.last_act() {
            Some(act) if self.outcome.is_empty() => sentence(&act.shown()),
            Some(act) => self.ended_with(&format!("{}, with:", act.shown()), ACTION),
            None if self.outcome.is_empty() => String::new(),
            None if declines(&self.outcome) => self.ended_with("Decline:", ACTION),
            None => self.ended_with("Answer:", ACTION),
        }
    }

    /// The steps that led to the goal.
    fn same_again(&self) -> String {
        let lookups = self.account.lookups();
        let lookups = lookups[lookups.len().saturating_sub(3)..].join(", ");
        let then = match self.account.last_act() {
            Some(act) => format!("call {}", act.tool),
            None if declines(&self.outcome) => "decline with the reason".to_owned(),
            None if self.account.last_call().is_none() => "answer directly, as here".to_owned(),
            None => "answer; nothing has to be changed".to_owned(),
        };
        match lookups.as_str() {
            "" => format!("On a task like this, {then}."),
            lookups => format!("On a task like this, first {lookups}, then {then}."),
        }
    }

    fn tools_to_watch(&self, failure: Option<&Failure<'_, '_>>) -> Vec<String> {
        const WATCHED: usize = 3;
        let mut tools: Vec<String> = Vec::new();
        let failed = failure.map(|failure| failure.call.tool.as_str());
        let acts = self.account.acts().rev().map(|act| act.tool.as_str());
        for tool in failed.into_iter().chain(acts) {
            if tools.len() < WATCHED && !tools.iter().any(|known| known == tool) {
                tools.push(tool.to_owned());
            }
        }
        if tools.is_empty() {
            let lookups = self.account.lookups();
            tools.extend(lookups.last().map(|tool| (*tool).to_owned()));
        }
        tools
    }

    fn tools_used(&self) -> Vec<String> {
        let tools = self.account.tools().into_iter().take(MAX_TOOLS);
        tools.map(|(tool, _)| tool.to_owned()).collect()
    }
}

fn failed_with(failure: &Failure<'_, '_>, words: usize) -> String {
    let times = match failure.times {
        1 => String::new(),
        times => format!(" {times} times"),
    };
    let error = quote(&shorten(failure.error, words));
    format!("{} failed{times}: {error}.", failure.call.tool)
}

fn way_around(failure: &Failure<'_, '_>) -> String {
    let tool = &failure.call.tool;
    match (failure.overcome_by, failure.changed.as_slice()) {
        (Some(later), []) => format!("{tool} went through as {}.", later.shown()),
        (Some(_), changed) => format!(
            "{tool} went through only after {} changed: settle that before the first call.",
            changed.join(", ")
        ),
        (None, _) => {
            format!("Before {tool}, rule that error out; if it comes back, change the plan.")
        }
    }
}
