use reflect_sdk::TraceOutput;
use reflect_sdk::calls::Failure;
use reflect_types::{AuthoredReflection, Metadata, Review, Reviewer, Verdict};
use serde_json::{Value, json};

use crate::error::ReflexionError;
use crate::evaluation::Evaluation;
use crate::outcome::{Outcome, Trial};
use crate::prompt::notes;
use crate::recording::RunResult;
use crate::self_reflection::MemoryEntry;

/// The record of a run or a trial in a trace.
pub(super) struct Record<'a> {
    /// The trial with the messages and the answer; `None` if none is finished.
    trial: Option<&'a Trial>,
    /// Whether the task was done; `None` if a judge cannot tell, which leaves the review to people.
    verdict: Option<Verdict>,
    /// The model that gave the verdict, and its weight.
    judge: (Option<&'a str>, Option<f64>),
    feedback: String,
    reflection: Option<AuthoredReflection>,
    /// The error that ended the run.
    error: Option<Failure>,
    /// The metadata under `reflexion`.
    details: Metadata,
}

impl<'a> Record<'a> {
    /// A whole run: its last trial, and the reflections on the others.
    pub(super) fn of_run(outcome: &'a Outcome) -> Self {
        let last = outcome.last();
        let feedback = feedback(last);
        let reflections = outcome.trials.iter().filter_map(|trial| {
            Some(MemoryEntry {
                trial: trial.number(),
                reflection: trial.reflection.clone().filter(|text| text != feedback)?,
            })
        });
        let reflections = notes(&reflections.collect::<Vec<_>>());
        Self {
            feedback: paragraphs([feedback, &reflections]),
            details: summary(outcome),
            ..Self::new(last, outcome.succeeded())
        }
    }

    /// A run that ended with an error.
    pub(super) fn of_error(error: &'a ReflexionError) -> Self {
        let record = error
            .partial()
            .map_or_else(|| Self::new(None, false), Self::of_run);
        record.because_of(error)
    }

    /// One trial.
    pub(super) fn of_trial(trial: &'a Trial) -> Self {
        let feedback = feedback(Some(trial));
        let reflection = trial.reflection.as_deref().unwrap_or_default().trim();
        let mut record = Self::new(Some(trial), trial.success());
        if !reflection.is_empty() && reflection != feedback {
            record.feedback = paragraphs([feedback, reflection]);
            record.reflection = Some(AuthoredReflection {
                summary: paragraphs(["This trial failed.", feedback]),
                guidance: reflection.to_owned(),
                key_mistake: feedback.to_owned(),
                ..AuthoredReflection::default()
            });
        }
        record.detail("score", trial.score())
    }

    /// The last trial of a run, which an error may have left unfinished.
    pub(super) fn of_last_trial(result: &'a RunResult) -> Self {
        let (outcome, error) = match result {
            Ok(outcome) => (Some(outcome), None),
            Err(error) => (error.partial(), Some(error)),
        };
        let last = outcome.and_then(Outcome::last);
        let number = match error {
            Some(ReflexionError::Stage { trial, .. }) => Some(*trial),
            _ => last.map(Trial::number),
        };
        let mut record = match last.filter(|last| Some(last.number()) == number) {
            Some(trial) => Self::of_trial(trial),
            None => Self::new(None, false),
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
        let trajectory = self.trial.map(|trial| &trial.trajectory);
        let output = match trajectory {
            Some(trial) => TraceOutput::new(trial.messages.clone()).final_response(trial.answer()),
            // The messages that the trace recorded itself.
            None => TraceOutput::recorded(),
        };
        let mut output = output.metadata("reflexion", self.details);
        if let Some(verdict) = self.verdict {
            let (judge, alpha) = self.judge;
            let review = Review {
                feedback_text: Some(self.feedback).filter(|text| !text.is_empty()),
                alpha,
                reflection: self.reflection,
                ..Review::new(verdict)
            };
            output = output.review(match judge {
                Some(judge) => review.judged_by(judge),
                None => review.reviewer(Reviewer::Program),
            });
        }
        match self.error {
            Some(error) => output.error(error),
            None => output,
        }
    }

    fn new(trial: Option<&'a Trial>, success: bool) -> Self {
        let evaluation = trial.and_then(|trial| trial.evaluation.as_ref());
        let judge = evaluation.and_then(|evaluation| evaluation.judge.as_deref());
        let unclear = evaluation.is_some_and(|evaluation| evaluation.unclear);
        Self {
            trial,
            verdict: (!unclear || judge.is_none()).then(|| success.into()),
            judge: (judge, evaluation.and_then(|evaluation| evaluation.alpha)),
            feedback: feedback(trial).to_owned(),
            reflection: None,
            error: None,
            details: Metadata::new(),
        }
    }

    /// Notes the error that ended a run. Running out of trials is not such an error: the status says it.
    fn because_of(mut self, error: &ReflexionError) -> Self {
        if matches!(
            error,
            ReflexionError::Stage { .. } | ReflexionError::Config(_) | ReflexionError::Runtime(_)
        ) {
            self.error = Some(Failure::of_error(error));
        }
        self
    }
}

fn feedback(trial: Option<&Trial>) -> &str {
    let evaluation: Option<&Evaluation> = trial.and_then(|trial| trial.evaluation.as_ref());
    evaluation.map_or("", |evaluation| evaluation.feedback.trim())
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
    let texts = texts.into_iter().filter(|text| !text.trim().is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}
