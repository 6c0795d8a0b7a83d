//! The four numbers at the top, and the answer in words.

use reflect_engine::statistics::Agreement;
use reflect_types::{Conclusion, JudgeAgreement, Outcomes, Report};

use crate::frame::Frame;
use crate::rate_plot::shown as rate;
use crate::text::{grouped, line, percent};
use crate::timeline::Interval;

/// The reviewed runs from which the rate of an interval is compared with another one's.
const COMPARABLE: u64 = 20;

/// A number and what it says.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) value: String,
    pub(super) class: &'static str,
    pub(super) text: String,
    pub(super) address: Option<String>,
}

impl Figure {
    fn new(value: impl Into<String>, class: &'static str, text: String) -> Self {
        Self {
            value: value.into(),
            class,
            text,
            address: None,
        }
    }
}

pub(super) fn figures(
    frame: &Frame,
    report: &Report,
    outcomes: &Outcomes,
    times: &[Interval],
) -> Vec<Figure> {
    let waiting = Figure {
        address: frame.may.review.then(|| frame.to("review")),
        ..Figure::new(
            grouped(report.waiting),
            "",
            match report.waiting {
                1 => "run waits for a review".to_owned(),
                _ => "runs wait for a review".to_owned(),
            },
        )
    };
    vec![
        uplift(outcomes),
        pass_rate(outcomes, times),
        judge(&report.judges),
        waiting,
    ]
}

/// What the comparison of the arms shows, or why it shows nothing.
fn uplift(outcomes: &Outcomes) -> Figure {
    if let Some(found) = &outcomes.difference {
        let class = match outcomes.conclusion {
            Conclusion::Helps => "pass",
            Conclusion::Harms => "fail",
            _ => "",
        };
        let text = format!(
            "with memories, 95 % between {} and {}",
            points(found.low),
            points(found.high)
        );
        return Figure::new(format!("{} pts", points(found.value)), class, text);
    }
    match outcomes.more_runs {
        Some(more) => Figure::new(
            "Too early",
            "word",
            format!("not enough runs yet: about {} more", grouped(more)),
        ),
        None => Figure::new(
            "Not measured",
            "word",
            "no run was drawn for a control arm".to_owned(),
        ),
    }
}

fn pass_rate(outcomes: &Outcomes, times: &[Interval]) -> Figure {
    let all = outcomes.all;
    let (Some(share), Some(low), Some(high)) = (all.rate, all.low, all.high) else {
        return Figure::new("–", "", "no reviewed run".to_owned());
    };
    let mut comparable = times
        .iter()
        .filter(|time| time.runs.runs() >= COMPARABLE)
        .filter_map(|time| Some((time, rate(time.runs)?.0)));
    let text = match (comparable.next(), comparable.next_back()) {
        (Some((first, before)), Some((_, after))) => format!(
            "pass rate; {} lately, was {} at {}",
            percent(after),
            percent(before),
            first.label
        ),
        _ => format!(
            "pass rate, 95 % between {} and {}",
            percent(low),
            percent(high)
        ),
    };
    Figure::new(percent(share), "", text)
}

/// The agreement of the judge that most is known about.
fn judge(judges: &[JudgeAgreement]) -> Figure {
    let Some(judge) = judges.iter().max_by_key(|judge| judge.compared) else {
        return Figure::new("–", "", "no judge: people review every run".to_owned());
    };
    let name = line(&judge.judge, 30);
    match judge.kappa {
        Some(kappa) if judge.compared >= Agreement::FEWEST => Figure::new(
            format!("{kappa:.2}"),
            if judge.step < 1.0 { "fail" } else { "" },
            format!(
                "{name} agrees with people (κ, {} runs)",
                grouped(judge.compared)
            ),
        ),
        _ => {
            let more = Agreement::FEWEST.saturating_sub(judge.compared).max(1);
            let text = format!("does {name} agree with people? About {more} more runs of both");
            Figure::new("Too early", "word", text)
        }
    }
}

/// What can be concluded, in words.
pub(super) fn answer(outcomes: &Outcomes, who: &str) -> String {
    match &outcomes.conclusion {
        Conclusion::NoControlArm => "Whether memories help cannot be said: no run was drawn for a control \
             arm, and a pass rate also changes with the tasks, the agent and the model. Give a share of the \
             runs no memories."
            .to_owned(),
        Conclusion::NotEnoughRuns => format!(
            "Not enough runs yet: about {} more, reviewed by {who}, show whether memories help.",
            grouped(outcomes.more_runs.unwrap_or(1))
        ),
        Conclusion::Helps => format!("Yes. Runs with memories pass more often, as {who} see it."),
        Conclusion::Harms => format!(
            "No. Runs with memories pass less often, as {who} see it: look at the memories below, and at \
             the reviews."
        ),
        Conclusion::NoDifference => {
            format!("Memories make no difference that the reviews of {who} show.")
        }
        other => other.to_string(),
    }
}

/// A difference of rates in percentage points.
pub(super) fn points(difference: f64) -> String {
    // A true minus is as wide as a plus.
    format!("{:+.1}", difference * 100.0).replace('-', "\u{2212}")
}
