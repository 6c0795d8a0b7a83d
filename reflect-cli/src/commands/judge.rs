use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use reflect_types::{ReviewRecord, Verdict};
use serde::Serialize;

use crate::failure::Failure;
use crate::listing::{Listing, Status};
use crate::output;
use crate::place::Place;

#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show how often each judge agrees with people, over the runs that both reviewed.
    Report,
}

/// The agreement of a judge with people.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Comparison {
    /// The model.
    judge: String,
    /// Runs that only the judge reviewed.
    alone: u64,
    /// Runs that both reviewed.
    compared: u64,
    /// The share of compared runs with the same verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    agreement: Option<f64>,
    /// Cohen's kappa: agreement beyond chance, at most 1. Absent if chance alone gives full agreement.
    #[serde(skip_serializing_if = "Option::is_none")]
    kappa: Option<f64>,
    /// Runs that both passed.
    both_pass: u64,
    /// Runs that both failed.
    both_fail: u64,
    /// Runs that the judge passed and people failed.
    wrongly_passed: u64,
    /// Runs that the judge failed and people passed.
    wrongly_failed: u64,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Action::Report = options.action;
    let client = options.place.client().await?;
    let mut judges: BTreeMap<String, Comparison> = BTreeMap::new();
    let mut listing = Listing::new(&client, Status::Reviewed);
    while let Some(page) = listing.next(100).await? {
        for review in page.iter().filter_map(|trace| trace.review.as_ref()) {
            count(&mut judges, review);
        }
    }
    let report: Vec<Comparison> = judges.into_values().map(Comparison::completed).collect();
    if options.place.json {
        return output::json(&report);
    }
    if report.is_empty() {
        return output::say(format_args!(
            "No judge has reviewed a run of this project: see `reflect serve --judge`."
        ));
    }
    show(&report)
}

fn count(judges: &mut BTreeMap<String, Comparison>, review: &ReviewRecord) {
    let overruled = review.overruled.as_ref();
    let model = review.model().or(overruled.map(|verdict| &*verdict.model));
    let Some(model) = model else { return };
    let judge = judges
        .entry(model.to_owned())
        .or_insert_with(|| Comparison {
            judge: model.to_owned(),
            ..Comparison::default()
        });
    let counter = match (overruled.map(|verdict| verdict.result), review.result) {
        (None, _) => &mut judge.alone,
        (Some(Verdict::Pass), Verdict::Pass) => &mut judge.both_pass,
        (Some(Verdict::Fail), Verdict::Fail) => &mut judge.both_fail,
        (Some(Verdict::Pass), Verdict::Fail) => &mut judge.wrongly_passed,
        (Some(Verdict::Fail), Verdict::Pass) => &mut judge.wrongly_failed,
        // Verdicts unknown to this version are not compared.
        _ => return,
    };
    *counter += 1;
}

impl Comparison {
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
    fn completed(mut self) -> Self {
        let (same, other) = (
            self.both_pass + self.both_fail,
            self.wrongly_passed + self.wrongly_failed,
        );
        self.compared = same + other;
        if self.compared == 0 {
            return self;
        }
        let all = self.compared as f64;
        let agreement = same as f64 / all;
        let judge_passes = (self.both_pass + self.wrongly_passed) as f64 / all;
        let people_pass = (self.both_pass + self.wrongly_failed) as f64 / all;
        let by_chance = judge_passes * people_pass + (1.0 - judge_passes) * (1.0 - people_pass);
        self.agreement = Some(agreement);
        self.kappa = (by_chance < 1.0).then(|| (agreement - by_chance) / (1.0 - by_chance));
        self
    }
}

fn show(report: &[Comparison]) -> Result<(), Failure> {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    let rows: Vec<[String; 9]> = report
        .iter()
        .map(|judge| {
            [
                output::line(&judge.judge, 40),
                judge.compared.to_string(),
                number(judge.agreement),
                number(judge.kappa),
                judge.both_pass.to_string(),
                judge.both_fail.to_string(),
                judge.wrongly_passed.to_string(),
                judge.wrongly_failed.to_string(),
                judge.alone.to_string(),
            ]
        })
        .collect();
    output::table(
        [
            "JUDGE",
            "COMPARED",
            "AGREEMENT",
            "KAPPA",
            "BOTH PASS",
            "BOTH FAIL",
            "WRONGLY PASSED",
            "WRONGLY FAILED",
            "NOT COMPARED",
        ],
        &rows,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(both_pass: u64, both_fail: u64, passed: u64, failed: u64) -> Comparison {
        let counted = Comparison {
            both_pass,
            both_fail,
            wrongly_passed: passed,
            wrongly_failed: failed,
            ..Comparison::default()
        };
        counted.completed()
    }

    #[test]
    fn kappa_is_agreement_beyond_chance() {
        // The textbook example: 20 and 15 agree, 5 and 10 do not.
        let judge = agreement(20, 15, 5, 10);
        assert_eq!((judge.compared, judge.agreement), (50, Some(0.7)));
        assert!((judge.kappa.unwrap() - 0.4).abs() < 1e-12);
        assert_eq!(agreement(3, 4, 0, 0).kappa, Some(1.0));
        assert_eq!(agreement(0, 0, 2, 2).kappa, Some(-1.0));
    }

    #[test]
    fn undefined_statistics_are_absent() {
        let alike = agreement(7, 0, 0, 0);
        assert_eq!((alike.agreement, alike.kappa), (Some(1.0), None));
        assert_eq!(agreement(0, 0, 0, 0).agreement, None);
    }
}
