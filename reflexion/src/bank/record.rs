use std::error::Error as _;
use std::fmt::Write as _;

use reflect_types::{AuthoredReflection, CreateTrace, Message, Metadata, Review, Verdict};
use serde_json::json;

use super::prompt::notes;
use super::{MemoryEntry, Outcome, ReflexionError, Trial};
use crate::TraceOutput;

/// What is recorded of a run or of a trial, whichever way it goes.
#[derive(Debug)]
pub(super) struct Account {
    /// What was said and done, and answered; `None` where no trial was finished.
    did: Option<(Vec<Message>, String)>,
    /// `None` where a judge could not tell: then the review is left to people.
    verdict: Option<Verdict>,
    feedback: String,
    lesson: Option<AuthoredReflection>,
    /// The model behind the verdict, and how far its review moves the memories.
    judge: Option<String>,
    alpha: Option<f64>,
    /// Stands in the metadata under `reflexion`.
    details: Metadata,
}

impl Account {
    /// A whole run: its last trial, and what the others taught.
    pub(super) fn of_run(outcome: &Outcome) -> Self {
        let last = outcome.last();
        let said = last.map(feedback).unwrap_or_default();
        let lessons: Vec<MemoryEntry> = outcome
            .trials
            .iter()
            .filter_map(|trial| {
                Some(MemoryEntry {
                    trial: trial.number(),
                    reflection: trial.reflection.clone().filter(|text| text != said)?,
                })
            })
            .collect();
        Self {
            did: last.map(did),
            verdict: if last.is_some_and(is_open) {
                None
            } else {
                Some(outcome.succeeded().into())
            },
            feedback: paragraphs([said, &notes(&lessons)]),
            lesson: None,
            judge: last.and_then(judge),
            alpha: last.and_then(alpha),
            details: summary(outcome),
        }
    }

    /// A run that ended with an error, as far as it got.
    pub(super) fn of_error(error: &ReflexionError) -> Self {
        let account = match error.partial() {
            Some(partial) => Self::of_run(partial),
            None => Self::unfinished(),
        };
        account.because_of(error)
    }

    /// One trial of several.
    pub(super) fn of_trial(trial: &Trial) -> Self {
        let (said, lesson) = (feedback(trial), own_reflection(trial));
        Self {
            did: Some(did(trial)),
            verdict: (!is_open(trial)).then(|| trial.success().into()),
            feedback: paragraphs([said, lesson.unwrap_or_default()]),
            lesson: lesson.map(|lesson| AuthoredReflection {
                summary: paragraphs(["This trial failed.", said]),
                guidance: lesson.to_owned(),
                key_mistake: said.to_owned(),
                ..AuthoredReflection::default()
            }),
            judge: judge(trial),
            alpha: alpha(trial),
            details: Metadata::new(),
        }
        .detail("score", trial.score())
    }

    /// The trial that a run ended with. Where an error ended it, that trial may not be finished.
    pub(super) fn of_last_trial(result: &Result<Outcome, ReflexionError>) -> Self {
        let (outcome, error) = match result {
            Ok(outcome) => (Some(outcome), None),
            Err(error) => (error.partial(), Some(error)),
        };
        let number = match error {
            Some(ReflexionError::Stage { trial, .. }) => Some(*trial),
            _ => outcome.and_then(Outcome::last).map(Trial::number),
        };
        let last = outcome.and_then(Outcome::last);
        let mut account = match last.filter(|last| Some(last.number()) == number) {
            Some(trial) => Self::of_trial(trial),
            None => Self::unfinished(),
        };
        account
            .details
            .extend(outcome.map(summary).unwrap_or_default());
        let account = account.detail("trial", number);
        match error {
            Some(error) => account.because_of(error),
            None => account,
        }
    }

    /// Adds to what the metadata says of the loop, unless there is nothing to say.
    pub(super) fn detail(
        mut self,
        name: &str,
        value: Option<impl Into<serde_json::Value>>,
    ) -> Self {
        if let Some(value) = value {
            self.details.insert(name.to_owned(), value.into());
        }
        self
    }

    pub(super) fn into_trace(self, task: &str) -> CreateTrace {
        let review = self.review();
        let (messages, response) = self
            .did
            .map_or((vec![Message::user(task)], None), |(messages, response)| {
                (messages, Some(response))
            });
        let mut trace = CreateTrace::new(task, messages);
        trace.final_response = response;
        trace
            .metadata
            .insert("reflexion".to_owned(), self.details.into());
        trace.review = review;
        trace
    }

    fn into_output(self) -> TraceOutput {
        let review = self.review();
        let output = match self.did {
            Some((messages, response)) => TraceOutput::new(messages).final_response(response),
            // What the run noted on its way is all there is.
            None => TraceOutput::recorded(),
        };
        let mut output = output.metadata("reflexion", self.details);
        let Some(review) = review else {
            return output;
        };
        output = output.verdict(review.result);
        if let Some(feedback) = review.feedback_text {
            output = output.feedback(feedback);
        }
        match review.alpha {
            Some(alpha) => output.alpha(alpha),
            None => output,
        }
    }

    fn review(&self) -> Option<Review> {
        let review = Review {
            feedback_text: Some(self.feedback.clone()).filter(|text| !text.is_empty()),
            alpha: self.alpha,
            reflection: self.lesson.clone(),
            ..Review::new(self.verdict?)
        };
        Some(match &self.judge {
            Some(judge) => review.judged_by(judge),
            None => review,
        })
    }

    fn unfinished() -> Self {
        Self {
            did: None,
            verdict: Some(Verdict::Fail),
            feedback: String::new(),
            lesson: None,
            judge: None,
            alpha: None,
            details: Metadata::new(),
        }
    }

    /// What ended the run comes first. That it ran out of trials is known from its status.
    fn because_of(mut self, error: &ReflexionError) -> Self {
        if matches!(
            error,
            ReflexionError::Stage { .. } | ReflexionError::Config(_)
        ) {
            // That is no model's verdict.
            (self.judge, self.alpha) = (None, None);
            self.verdict = Some(Verdict::Fail);
            self.feedback = paragraphs([&with_sources(error), &self.feedback]);
        }
        self
    }
}

/// All that a guard's [`set_output`](crate::TraceGuard::set_output) needs: what the last trial did,
/// the verdict by the status, the last feedback and what failed trials taught.
impl From<&Outcome> for TraceOutput {
    fn from(outcome: &Outcome) -> Self {
        Account::of_run(outcome).into_output()
    }
}

/// A failed run, with the error as feedback and whatever was done until then.
impl From<&ReflexionError> for TraceOutput {
    fn from(error: &ReflexionError) -> Self {
        Account::of_error(error).into_output()
    }
}

fn did(trial: &Trial) -> (Vec<Message>, String) {
    let trajectory = &trial.trajectory;
    (trajectory.messages.clone(), trajectory.answer())
}

fn feedback(trial: &Trial) -> &str {
    let evaluation = trial.evaluation.as_ref();
    evaluation.map_or("", |evaluation| evaluation.feedback.trim())
}

fn judge(trial: &Trial) -> Option<String> {
    trial.evaluation.as_ref()?.judge.clone()
}

/// Whether a judge looked at the trial and could not tell.
fn is_open(trial: &Trial) -> bool {
    let evaluation = trial.evaluation.as_ref();
    evaluation.is_some_and(|evaluation| evaluation.unclear && evaluation.judge.is_some())
}

fn alpha(trial: &Trial) -> Option<f64> {
    trial.evaluation.as_ref()?.alpha
}

/// What the trial taught, unless that is the feedback once more.
fn own_reflection(trial: &Trial) -> Option<&str> {
    let text = trial.reflection.as_deref()?.trim();
    (!text.is_empty() && text != feedback(trial)).then_some(text)
}

fn summary(outcome: &Outcome) -> Metadata {
    let scores: Vec<Option<f64>> = outcome.trials.iter().map(Trial::score).collect();
    let reflections: Vec<&str> = outcome.reflections().collect();
    Metadata::from_iter([
        ("trials".to_owned(), json!(outcome.trials.len())),
        ("status".to_owned(), json!(outcome.status)),
        ("scores".to_owned(), json!(scores)),
        ("reflections".to_owned(), json!(reflections)),
    ])
}

fn paragraphs<const N: usize>(texts: [&str; N]) -> String {
    let texts: Vec<&str> = texts
        .into_iter()
        .filter(|text| !text.trim().is_empty())
        .collect();
    texts.join("\n\n")
}

fn with_sources(error: &ReflexionError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        // Writing to a String cannot fail.
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}
