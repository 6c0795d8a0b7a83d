//! The rows of the report's tables.

use reflect_types::{
    JudgeAgreement, MemoryHistory, MemoryOutcome, MemoryRecord, ModelUsage, Outcomes, PassRate,
    UsageSum,
};

use super::figures::points;
use crate::card::MemoryCard;
use crate::frame::Frame;
use crate::rate_plot::shown as rate;
use crate::text::{grouped, line, percent, shown, tokens};
use crate::timeline::Interval;

/// An interval of the plot.
#[derive(Debug)]
pub(super) struct TimeRow {
    pub(super) label: String,
    pub(super) runs: String,
    pub(super) control: String,
}

impl TimeRow {
    pub(super) fn new(time: &Interval) -> Self {
        let cell = |of| match rate(of) {
            Some((share, low, high)) => rate_text(share, low, high, of.runs()),
            None => "–".to_owned(),
        };
        Self {
            label: time.label.clone(),
            runs: cell(time.runs),
            control: cell(time.control),
        }
    }
}

/// The runs that people, or models, have reviewed.
#[derive(Debug)]
pub(super) struct SideRow {
    pub(super) name: &'static str,
    pub(super) all: String,
    pub(super) memories: String,
    pub(super) control: String,
    pub(super) difference: String,
}

impl SideRow {
    pub(super) fn new(name: &'static str, outcomes: &Outcomes) -> Self {
        let difference = match (&outcomes.difference, outcomes.more_runs) {
            (Some(found), _) => format!(
                "{} ({} to {})",
                points(found.value),
                points(found.low),
                points(found.high)
            ),
            (None, Some(more)) => format!("about {} more runs", grouped(more)),
            (None, None) => "–".to_owned(),
        };
        Self {
            name,
            all: pass_rate(outcomes.all),
            memories: pass_rate(outcomes.memories),
            control: pass_rate(outcomes.control),
            difference,
        }
    }
}

/// The tokens of a run with a model, on average.
#[derive(Debug)]
pub(super) struct UsageRow {
    pub(super) model: String,
    pub(super) all: String,
    pub(super) memories: String,
    pub(super) control: String,
}

impl UsageRow {
    pub(super) fn new(usage: &ModelUsage) -> Self {
        let mean = |sum: UsageSum| match sum.mean() {
            Some(usage) => format!("{} of {}", tokens(usage), grouped(sum.runs)),
            None => "–".to_owned(),
        };
        Self {
            model: usage
                .model
                .as_deref()
                .map_or("–".to_owned(), |model| line(model, 60)),
            all: mean(usage.all),
            memories: mean(usage.memories),
            control: mean(usage.control),
        }
    }
}

/// A memory that helps or harms.
#[derive(Debug)]
pub(super) struct MemoryRow {
    /// Absent for a visitor who may not read memories.
    pub(super) address: Option<String>,
    pub(super) text: String,
    /// Why it is kept out of answers; `None` if it is not.
    pub(super) aside: Option<String>,
    pub(super) runs: String,
    pub(super) share: String,
}

impl MemoryRow {
    /// A memory of the report.
    pub(super) fn given(frame: &Frame, outcome: &MemoryOutcome, records: &[MemoryRecord]) -> Self {
        let record = records.iter().find(|record| record.id == outcome.memory_id);
        let card = record.map(|record| MemoryCard::new(frame, record));
        let runs = outcome.runs;
        Self {
            text: card.as_ref().map_or_else(
                || line(&outcome.task, MAX_TEXT),
                |card| line(&card.headline, MAX_TEXT),
            ),
            address: card.map(|card| card.address),
            aside: None,
            runs: grouped(runs.passed + runs.failed),
            share: runs.rate.map(percent).unwrap_or_default(),
        }
    }

    /// A memory that is set aside.
    pub(super) fn aside(frame: &Frame, history: &MemoryHistory) -> Self {
        let memory = &history.memory;
        let card = MemoryCard::new(frame, memory);
        let passed = history.events.iter().filter(|e| e.reward > 0.5).count();
        let reason = memory.aside.as_ref().map(|aside| shown(&aside.reason));
        #[expect(clippy::cast_precision_loss, reason = "counts of runs are below 2^53")]
        let share = match history.events.len() {
            0 => "–".to_owned(),
            events => percent(passed as f64 / events as f64),
        };
        Self {
            text: line(&card.headline, MAX_TEXT),
            address: Some(card.address),
            aside: Some(reason.unwrap_or_else(|| "set aside by a person".to_owned())),
            runs: grouped(history.events.len() as u64),
            share,
        }
    }
}

/// The longest text of a memory in a table, in characters.
const MAX_TEXT: usize = 140;

/// How far a model agrees with people.
#[derive(Debug)]
pub(super) struct JudgeRow {
    pub(super) name: String,
    pub(super) compared: String,
    pub(super) agreement: String,
    pub(super) kappa: String,
    pub(super) bias: String,
    /// What Reflect does about a judge that disagrees.
    pub(super) warning: Option<String>,
}

impl JudgeRow {
    pub(super) fn new(judge: &JudgeAgreement) -> Self {
        let warning = (judge.step < 1.0).then(|| {
            format!(
                "It agrees too little with people: its reviews count {} as much. Change its model or \
                 its instructions.",
                percent(judge.step)
            )
        });
        let number = |value: Option<f64>| value.map_or("–".to_owned(), |v| format!("{v:.2}"));
        Self {
            name: line(&judge.judge, 60),
            compared: grouped(judge.compared),
            agreement: judge.agreement.map_or("–".to_owned(), percent),
            kappa: number(judge.kappa),
            bias: judge.bias.map_or("–".to_owned(), points),
            warning,
        }
    }
}

fn pass_rate(rate: PassRate) -> String {
    match (rate.rate, rate.low, rate.high) {
        (Some(share), Some(low), Some(high)) => {
            rate_text(share, low, high, rate.passed + rate.failed)
        }
        _ => "–".to_owned(),
    }
}

/// Such as `71 % (66 to 76) of 1,284`.
fn rate_text(share: f64, low: f64, high: f64, runs: u64) -> String {
    format!(
        "{} ({:.0} to {:.0}) of {}",
        percent(share),
        low * 100.0,
        high * 100.0,
        grouped(runs)
    )
}
