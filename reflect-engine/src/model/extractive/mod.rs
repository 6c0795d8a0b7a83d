//! The reflection writer without a model: it states the verdict and what was done.

mod call;
mod failure;
mod said;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use reflect_types::{Reflection, Verdict};

use super::error::Error;
use super::port::{JudgedRun, ReflectionWriter};
use super::prose::{distinct, quote, sentence, shorten};
use super::steps::{Step, is_a_run, steps};
use call::{Call, Outcome, calls};

/// Writes reflections by extraction: the verdict, what tools refused and what then went through, the
/// calls that led to the outcome, an excerpt of the answer.
///
/// It draws no conclusions: the lesson is in the reviewer's words, which the engine adds. It never
/// fails, takes time linear in the run, and is deterministic. The summary has at most
/// [`Extractive::MAX_WORDS`] words; the fields for mistakes and advice stay empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extractive;

impl Extractive {
    /// The name of the writer.
    pub const ID: &'static str = "extractive";
    /// The maximum number of words of [`Reflection::summary`].
    pub const MAX_WORDS: usize = 110;

    /// The reflection on a run.
    pub fn write(self, run: &JudgedRun<'_>) -> Reflection {
        Self::describe(run, steps(run.messages), None)
    }

    /// The reflection on a run that ended before its time, with an error as its feedback: what was being
    /// done then. `None` if nothing was.
    pub fn write_interrupted(self, run: &JudgedRun<'_>) -> Option<Reflection> {
        let steps = steps(run.messages);
        if steps.is_empty() && run.final_response.is_empty() {
            return None;
        }
        let error = failure::error_of(run.feedback.unwrap_or_default());
        Some(Self::describe(run, steps, Some(&error)))
    }

    fn describe(run: &JudgedRun<'_>, steps: Vec<Step<'_>>, error: Option<&str>) -> Reflection {
        // A run written as prose is a single message, not an answer.
        let final_response = match run.final_response {
            prose if is_a_run(prose) => "",
            answer => answer,
        };
        let called = steps.iter().any(|step| matches!(step, Step::Called { .. }));
        let answer = said::answer(&steps, final_response, run.task, !called);
        let at_the_end = steps.iter().rev();
        let at_the_end = at_the_end.take_while(|step| matches!(step, Step::Called { .. }));
        let unanswered = error.map_or(0, |_| at_the_end.count());
        let mut calls = calls(steps);
        let answered = calls.len().saturating_sub(unanswered);
        for call in &mut calls[answered..] {
            call.outcome = Outcome::Open;
        }
        let interrupted = &calls[answered..];
        let refusals = refusals(&calls);
        let leads = leads(&calls);
        let led: Vec<_> = calls.iter().filter(|call| leads(call)).collect();

        let broke = error.map(|error| broke(error, interrupted));
        let mut clauses: Vec<String> = broke.into_iter().collect();
        clauses.extend(refusals.iter().map(Refusal::shown));
        if !led.is_empty() {
            clauses.push(format!("called {}", sequence(&calls, &leads)));
        }
        if !answer.is_empty() {
            clauses.push(format!("answered {}", quote(&answer)));
        }
        let verdict = match run.verdict {
            Verdict::Fail => "Failed",
            Verdict::Pass => "Passed",
            _ => "Ended",
        };
        let summary = match clauses.join("; ").as_str() {
            "" => format!("{verdict}."),
            done => match shorten(&format!("{verdict}: {done}"), Self::MAX_WORDS) {
                quoted if quoted.ends_with('"') => quoted,
                summary => sentence(&summary),
            },
        };
        let refused = refusals.iter().map(|refusal| refusal.call.tool.as_str());
        let broken = interrupted.iter().map(|call| call.tool.as_str());
        let applicable = broken.chain(refused);
        let applicable = applicable.chain(led.iter().rev().map(|call| call.tool.as_str()));
        Reflection {
            summary,
            applicable_tools: distinct(applicable, 3),
            tools_used: distinct(calls.iter().map(|call| call.tool.as_str()), 32),
            written_by: Self::ID.to_owned(),
            ..Reflection::default()
        }
    }
}

#[async_trait]
impl ReflectionWriter for Extractive {
    fn id(&self) -> &str {
        Self::ID
    }

    async fn reflect(&self, run: &JudgedRun<'_>) -> Result<Reflection, Error> {
        Ok(self.write(run))
    }
}

/// The refusals of one tool.
struct Refusal<'a, 'b> {
    /// The last refused call.
    call: &'b Call<'a>,
    error: &'b str,
    times: usize,
    /// The next call of the tool that went through.
    accepted: Option<&'b Call<'a>>,
}

/// The refusals of the last two tools that refused something.
fn refusals<'a, 'b>(calls: &'b [Call<'a>]) -> Vec<Refusal<'a, 'b>> {
    const SHOWN: usize = 2;
    let mut found: Vec<Refusal<'a, 'b>> = Vec::new();
    for (at, call) in calls.iter().enumerate().rev() {
        let Outcome::Refused(error) = &call.outcome else {
            continue;
        };
        if let Some(known) = found.iter_mut().find(|known| known.call.tool == call.tool) {
            known.times += 1;
        } else if found.len() < SHOWN {
            let mut later = calls[at + 1..].iter();
            found.push(Refusal {
                call,
                error,
                times: 1,
                accepted: later
                    .find(|later| later.tool == call.tool && later.outcome == Outcome::Done),
            });
        }
    }
    found.reverse();
    found
}

impl Refusal<'_, '_> {
    fn shown(&self) -> String {
        let times = match self.times {
            1 => String::new(),
            times => format!(" {times} times"),
        };
        let tool = &self.call.tool;
        let error = quote(&shorten(self.error, 22));
        let then = self
            .accepted
            .map(|later| match self.call.changed_in(later) {
                changed if changed.is_empty() => format!(", accepted as {}", later.shown()),
                changed => format!(", accepted after a change of {}", changed.join(", ")),
            });
        format!(
            "{tool} refused{times} with {error}{}",
            then.unwrap_or_default()
        )
    }
}

/// The error that ended a run, and the calls that it was waiting for.
fn broke(error: &str, during: &[Call<'_>]) -> String {
    const SHOWN: usize = 3;
    let error = quote(&shorten(error, 22));
    let during: Vec<String> = during.iter().take(SHOWN).map(Call::shown).collect();
    match during.join(" and ").as_str() {
        "" => format!("broke with {error}"),
        calls => format!("broke with {error} during {calls}"),
    }
}

/// Whether a call led to the outcome: it did something, or came back where none did.
fn leads(calls: &[Call<'_>]) -> impl Fn(&Call<'_>) -> bool + use<> {
    let is_done = |call: &Call<'_>| call.outcome == Outcome::Done;
    let acts = move |call: &Call<'_>| is_done(call) && !call.only_reads();
    let any_acts = calls.iter().any(acts);
    move |call| if any_acts { acts(call) } else { is_done(call) }
}

/// The last calls in order: three that led to the outcome, with their arguments, and of three others the tool.
fn sequence(calls: &[Call<'_>], leads: &impl Fn(&Call<'_>) -> bool) -> String {
    const LED: usize = 3;
    const OTHERS: usize = 3;
    const LEFT_OUT: &str = "…";
    let done = calls.iter().filter(|call| call.outcome == Outcome::Done);
    let texts = done.map(|call| {
        let has_led = leads(call);
        let text = if has_led {
            call.shown()
        } else {
            call.tool.clone()
        };
        (text, has_led)
    });
    let (mut led, mut others, mut shown) = (LED, OTHERS, Vec::new());
    for (text, has_led) in counted(texts).into_iter().rev() {
        let room = if has_led { &mut led } else { &mut others };
        if *room > 0 {
            *room -= 1;
            shown.push(text);
        } else if shown.last().is_some_and(|last| last != LEFT_OUT) {
            shown.push(LEFT_OUT.to_owned());
        }
    }
    shown.reverse();
    shown.join(", ")
}

/// Equal neighbours as one, with their number.
fn counted(texts: impl Iterator<Item = (String, bool)>) -> Vec<(String, bool)> {
    let mut counted: Vec<((String, bool), usize)> = Vec::new();
    for text in texts {
        match counted.last_mut() {
            Some((last, count)) if *last == text => *count += 1,
            _ => counted.push((text, 1)),
        }
    }
    let shown = counted
        .into_iter()
        .map(|((text, has_led), count)| match count {
            1 => (text, has_led),
            count => (format!("{text} ({count}x)"), has_led),
        });
    shown.collect()
}
