use std::error::Error as _;
use std::fmt::Write as _;

use reflect_sdk::TraceOutput;
use reflect_types::{AuthoredReflection, Message, Metadata, Review, Verdict};
use serde_json::{Value, json};

use crate::episodic::MemoryEntry;
use crate::error::ReflexionError;
use crate::outcome::{Outcome, Trial};
use crate::prompt::notes;
use crate::recording::RunResult;

/// The record of a run or a trial in a trace.
#[derive(Debug)]
pub(super) struct Record {
    /// The messages and the answer; `None` if no trial is finished.
    conversation: Option<(Vec<Message>, String)>,
    /// `None` if a judge gave no verdict, which leaves the review to people.
    verdict: Option<Verdict>,
    feedback: String,
    reflection: Option<AuthoredReflection>,
    /// The model that gave the verdict.
    judge: Option<String>,
    alpha: Option<f64>,
    /// The metadata under `reflexion`.
    details: Metadata,
}

impl Record {
    /// A whole run: its last trial, and the reflections on the others.
    pub(super) fn of_run(outcome: &Outcome) -> Self {
        let last = outcome.last();
        let feedback = last.map(feedback).unwrap_or_default();
        let reflections: Vec<MemoryEntry> = outcome
            .trials
            .iter()
            .filter_map(|trial| {
                Some(MemoryEntry {
                    trial: trial.number(),
                    reflection: trial.reflection.clone().filter(|text| text != feedback)?,
                })
            })
            .collect();
        Self {
            conversation: last.map(conversation),
            verdict: if last.is_some_and(is_undecided) {
                None
            } else {
                Some(outcome.succeeded().into())
            },
            feedback: paragraphs([feedback, &notes(&reflections)]),
            reflection: None,
            judge: last.and_then(judge),
            alpha: last.and_then(alpha),
            details: summary(outcome),
        }
    }

    /// A run that ended with an error.
    pub(super) fn of_error(error: &ReflexionError) -> Self {
        let record = match error.partial() {
            Some(partial) => Self::of_run(partial),
            None => Self::unfinished(),
        };
        record.because_of(error)
    }

    /// One trial.
    pub(super) fn of_trial(trial: &Trial) -> Self {
        let (feedback, reflection) = (feedback(trial), own_reflection(trial));
        Self {
            conversation: Some(conversation(trial)),
            verdict: (!is_undecided(trial)).then(|| trial.success().into()),
            feedback: paragraphs([feedback, reflection.unwrap_or_default()]),
            reflection: reflection.map(|reflection| AuthoredReflection {
                summary: paragraphs(["This trial failed.", feedback]),
                guidance: reflection.to_owned(),
                key_mistake: feedback.to_owned(),
                ..AuthoredReflection::default()
            }),
            judge: judge(trial),
            alpha: alpha(trial),
            details: Metadata::new(),
        }
        .detail("score", trial.score())
    }

    /// The last trial of a run, which an error may have left unfinished.
    pub(super) fn of_last_trial(result: &RunResult) -> Self {
        let (outcome, error) = match result {
            Ok(outcome) => (Some(outcome), None),
            Err(error) => (error.partial(), Some(error)),
        };
        let number = match error {
            Some(ReflexionError::Stage { trial, .. }) => Some(*trial),
            _ => outcome.and_then(Outcome::last).map(Trial::number),
        };
        let last = outcome.and_then(Outcome::last);
        let mut record = match last.filter(|last| Some(last.number()) == number) {
            Some(trial) => Self::of_trial(trial),
            None => Self::unfinished(),
        };
        record
            .details
            .extend(outcome.map(summary).unwrap_or_default());
        let record = record.detail("trial", number);
        match error {
            Some(error) => record.because_of(error),
            None => record,
        }
    }

    /// Adds to the metadata under `reflexion`, if there is a value.
    pub(super) fn detail(mut self, name: &str, value: Option<impl Into<Value>>) -> Self {
        if let Some(value) = value {
            self.details.insert(name.to_owned(), value.into());
        }
        self
    }

    pub(super) fn into_output(self) -> TraceOutput {
        let review = self.review();
        let output = match self.conversation {
            Some((messages, answer)) => TraceOutput::new(messages).final_response(answer),
            // The messages that the trace recorded itself.
            None => TraceOutput::recorded(),
        };
        let output = output.metadata("reflexion", self.details);
        match review {
            Some(review) => output.review(review),
            None => output,
        }
    }

    fn review(&self) -> Option<Review> {
        let review = Review {
            feedback_text: Some(self.feedback.clone()).filter(|text| !text.is_empty()),
            alpha: self.alpha,
            reflection: self.reflection.clone(),
            ..Review::new(self.verdict?)
        };
        Some(match &self.judge {
            Some(judge) => review.judged_by(judge),
            None => review,
        })
    }

    fn unfinished() -> Self {
        Self {
            conversation: None,
            verdict: Some(Verdict::Fail),
            feedback: String::new(),
            reflection: None,
            judge: None,
            alpha: None,
            details: Metadata::new(),
        }
    }

    /// Puts the error that ended a run before the feedback. Running out of trials is no such error:
    /// the status says it.
    fn because_of(mut self, error: &ReflexionError) -> Self {
        if matches!(
            error,
            ReflexionError::Stage { .. } | ReflexionError::Config(_) | ReflexionError::Runtime(_)
        ) {
            // The verdict is not the model's.
            (self.judge, self.alpha) = (None, None);
            self.verdict = Some(Verdict::Fail);
            self.feedback = paragraphs([&with_sources(error), &self.feedback]);
        }
        self
    }
}

fn conversation(trial: &Trial) -> (Vec<Message>, String) {
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

/// Whether a judge looked at the trial and gave no verdict.
fn is_undecided(trial: &Trial) -> bool {
    let evaluation = trial.evaluation.as_ref();
    evaluation.is_some_and(|evaluation| evaluation.unclear && evaluation.judge.is_some())
}

fn alpha(trial: &Trial) -> Option<f64> {
    trial.evaluation.as_ref()?.alpha
}

/// The reflection on the trial, unless it is the feedback.
fn own_reflection(trial: &Trial) -> Option<&str> {
    let text = trial.reflection.as_deref()?.trim();
    (!text.is_empty() && text != feedback(trial)).then_some(text)
}

fn summary(outcome: &Outcome) -> Metadata {
    let scores: Vec<Option<f64>> = outcome.trials.iter().map(Trial::score).collect();
    let reflections: Vec<&str> = outcome.reflections().collect();
    Metadata::from_iter([
        ("run".to_owned(), json!(outcome.run_id)),
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
