use std::fmt;

use clap::Args;
use jiff::Timestamp;
use reflect_engine::report::{FEWEST, NARROW};
use reflect_types::{
    Conclusion, GetReport, JudgeAgreement, MemoryOutcome, Outcomes, PassRate, Report, UsageSum,
};

use crate::command_line::hint;
use crate::commands::undo;
use crate::failure::Failure;
use crate::output::{self, Column};
use crate::place::Place;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only runs stored at this time or later, such as `2026-11-15T12:00:00Z`, a date, or an age such as
    /// `30d`.
    #[arg(long, value_name = "TIME", value_parser = undo::time)]
    since: Option<Timestamp>,
    /// Only runs stored before this time.
    #[arg(long, value_name = "TIME", value_parser = undo::time)]
    until: Option<Timestamp>,
    /// Compare the runs of each `model`, `month`, `day` or `metadata.KEY`.
    #[arg(long, value_name = "GROUP")]
    by: Option<String>,
    #[command(flatten)]
    place: Place,
}

pub(crate) async fn run(options: Options) -> Result<(), Failure> {
    let Options { by, place, .. } = options;
    let client = place.client().await?;
    let get = GetReport {
        since: options.since.map(|since| since.to_string()),
        until: options.until.map(|until| until.to_string()),
        by: by.clone(),
    };
    let report = client.request(get).await?;
    if place.json {
        return output::json(&report);
    }
    show(&report, by.as_deref())
}

fn show(report: &Report, by: Option<&str>) -> Result<(), Failure> {
    output::say(format_args!(
        "{}, {} of them {} for a review\n",
        output::counted(report.traces, "run"),
        report.waiting,
        if report.waiting == 1 { "waits" } else { "wait" }
    ))?;
    let sides = [("people", &report.people), ("models", &report.models)];
    let sides = sides.map(|(who, found)| (who.to_owned(), found));
    outcomes(Some("REVIEWED BY"), &sides)?;
    output::say(format_args!("\n{}", Conclusions(report)))?;
    if let Some(by) = by {
        groups(report, by)?;
    }
    if report.months.len() > 1 && by != Some("month") {
        months(report)?;
    }
    usage(report)?;
    memories("Memories whose runs pass more often", &report.helpful)?;
    memories("Memories whose runs pass less often", &report.harmful)?;
    if report.judges.is_empty() {
        return Ok(());
    }
    output::say(format_args!("\nJudges, compared with people"))?;
    judges(&report.judges)
}

/// Prints the pass rates of runs by a name, if the column of names has a heading, and what they show.
pub(super) fn outcomes(named: Option<&str>, rows: &[(String, &Outcomes)]) -> Result<(), Failure> {
    let columns: [Column<'_, (String, &Outcomes)>; 5] = [
        (named.unwrap_or_default(), &|(name, _)| {
            output::line(name, 60)
        }),
        ("ALL RUNS", &|(_, found)| rate(&found.all)),
        ("WITH MEMORIES", &|(_, found)| rate(&found.memories)),
        ("WITHOUT", &|(_, found)| rate(&found.control)),
        ("DIFFERENCE", &|(_, found)| difference(found)),
    ];
    output::table(rows, &columns[usize::from(named.is_none())..])
}

fn groups(report: &Report, by: &str) -> Result<(), Failure> {
    for (who, of) in [
        (
            "people",
            (|group| &group.people) as fn(&reflect_types::Group) -> &Outcomes,
        ),
        ("models", |group| &group.models),
    ] {
        let rows: Vec<_> = report
            .groups
            .iter()
            .filter(|group| of(group).all.rate.is_some())
            .map(|group| {
                let name = group.value.as_deref().unwrap_or("-");
                (name.to_owned(), of(group))
            })
            .collect();
        if rows.is_empty() {
            continue;
        }
        output::say(format_args!("\nBy {by}, reviewed by {who}"))?;
        outcomes(Some("VALUE"), &rows)?;
    }
    if report.groups_left_out > 0 {
        output::say(format_args!(
            "{} more are not shown",
            report.groups_left_out
        ))?;
    }
    Ok(())
}

fn months(report: &Report) -> Result<(), Failure> {
    output::say(format_args!("\nPass rate over time"))?;
    output::table(
        &report.months,
        &[
            ("MONTH", &|month| month.month.clone()),
            ("PEOPLE", &|month| rate(&month.people)),
            ("MODELS", &|month| rate(&month.models)),
        ],
    )
}

fn usage(report: &Report) -> Result<(), Failure> {
    if report.usage.is_empty() {
        return Ok(());
    }
    let mean = |sum: UsageSum| match sum.mean() {
        Some(usage) => format!("{} of {}", output::tokens(usage), output::grouped(sum.runs)),
        None => "-".to_owned(),
    };
    output::say(format_args!("\nTokens of a run, on average"))?;
    output::table(
        &report.usage,
        &[
            ("MODEL", &|usage| {
                output::line(usage.model.as_deref().unwrap_or("-"), 40)
            }),
            ("ALL RUNS", &|usage| mean(usage.all)),
            ("WITH MEMORIES", &|usage| mean(usage.memories)),
            ("WITHOUT", &|usage| mean(usage.control)),
        ],
    )
}

fn memories(title: &str, memories: &[MemoryOutcome]) -> Result<(), Failure> {
    if memories.is_empty() {
        return Ok(());
    }
    output::say(format_args!("\n{title}"))?;
    output::table(
        memories,
        &[
            ("MEMORY", &|memory| memory.memory_id.to_string()),
            ("RUNS GIVEN IT", &|memory| rate(&memory.runs)),
            ("TASK", &|memory| output::line(&memory.task, 60)),
        ],
    )
}

/// Prints how far judges agree with people.
pub(super) fn judges(judges: &[JudgeAgreement]) -> Result<(), Failure> {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
    output::table(
        judges,
        &[
            ("JUDGE", &|judge| output::line(&judge.judge, 40)),
            ("COMPARED", &|judge| judge.compared.to_string()),
            ("AGREEMENT", &|judge| number(judge.agreement)),
            ("KAPPA", &|judge| number(judge.kappa)),
            ("BIAS TO PASS", &|judge| {
                judge.bias.map_or("-".to_owned(), points)
            }),
            ("STEP", &|judge| format!("{:.2}", judge.step)),
            ("WRONGLY PASSED", &|judge| judge.wrongly_passed.to_string()),
            ("WRONGLY FAILED", &|judge| judge.wrongly_failed.to_string()),
            ("NOT COMPARED", &|judge| judge.alone.to_string()),
        ],
    )?;
    for judge in judges.iter().filter(|judge| judge.step < 1.0) {
        output::say(format_args!(
            "{} agrees too little with people: its reviews count {:.0} % as much. Change the judge's \
             model or its instructions.",
            output::line(&judge.judge, 40),
            judge.step * 100.0
        ))?;
    }
    Ok(())
}

/// A pass rate with its interval and the number of runs.
fn rate(rate: &PassRate) -> String {
    match (rate.rate, rate.low, rate.high) {
        (Some(share), Some(low), Some(high)) => format!(
            "{:.0} % ({:.0} to {:.0}) of {}",
            share * 100.0,
            low * 100.0,
            high * 100.0,
            runs(rate)
        ),
        _ => "-".to_owned(),
    }
}

fn difference(outcomes: &Outcomes) -> String {
    if let Some(found) = &outcomes.difference {
        return format!(
            "{} ({} to {})",
            points(found.value),
            points(found.low),
            points(found.high)
        );
    }
    // An estimate needs reviews.
    match outcomes.more_runs.filter(|_| outcomes.all.rate.is_some()) {
        Some(more) if is_compared(outcomes) => {
            format!(
                "none visible yet: about {} more runs",
                output::grouped(more)
            )
        }
        Some(more) => format!("not enough runs yet: about {} more", output::grouped(more)),
        None => "-".to_owned(),
    }
}

/// Whether both arms have runs enough for a difference to be visible.
fn is_compared(outcomes: &Outcomes) -> bool {
    runs(&outcomes.memories).min(runs(&outcomes.control)) >= FEWEST
}

/// Whether the arms are so unequal that the smaller one decides how many runs it takes.
fn has_few_without(outcomes: &Outcomes) -> bool {
    runs(&outcomes.control) * 5 < runs(&outcomes.memories)
}

fn runs(rate: &PassRate) -> u64 {
    rate.passed + rate.failed
}

/// A difference of rates in percentage points.
fn points(difference: f64) -> String {
    format!("{:+.1}", difference * 100.0)
}

/// What can be concluded, in words.
struct Conclusions<'a>(&'a Report);

impl fmt::Display for Conclusions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { people, models, .. } = self.0;
        // By people, unless only models have reviewed.
        let (outcomes, who) = if people.all.rate.is_none() && models.all.rate.is_some() {
            (models, "models")
        } else {
            (people, "people")
        };
        match &outcomes.conclusion {
            Conclusion::NoControlArm => write!(
                f,
                "Whether memories help cannot be concluded: no run was drawn for a control arm. The \
                 pass rate also changes with the tasks, the agent and the model. Give a share of the \
                 runs to come no memories: `{}`, or `control(0.1)` on the client.",
                hint("projects set --control 0.1")
            ),
            Conclusion::NotEnoughRuns => {
                let found = if is_compared(outcomes) {
                    format!("No difference is visible yet in the runs that {who} reviewed")
                } else {
                    format!("Not enough runs are reviewed by {who} yet")
                };
                let more = output::grouped(outcomes.more_runs.unwrap_or(1));
                let points = NARROW * 100.0;
                write!(
                    f,
                    "{found}: to see a difference of {points:.0} points takes about {more} more"
                )?;
                f.write_str(if has_few_without(outcomes) {
                    ", or fewer with a larger share of runs without memories."
                } else {
                    "."
                })
            }
            Conclusion::Helps => write!(f, "Memories help, as {who} see it."),
            Conclusion::Harms => write!(
                f,
                "Memories do harm, as {who} see it: look at those below, and at the reviews."
            ),
            Conclusion::NoDifference => {
                write!(f, "Memories make no difference that {who}'s reviews show.")
            }
            other => write!(f, "{other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn concluded(memories: PassRate, control: PassRate, more: u64) -> (String, String) {
        let people = Outcomes {
            all: rated(1, 1),
            memories,
            control,
            conclusion: Conclusion::NotEnoughRuns,
            more_runs: Some(more),
            ..Outcomes::default()
        };
        let cell = difference(&people);
        let report = Report {
            people,
            ..Report::default()
        };
        (cell, Conclusions(&report).to_string())
    }

    fn rated(passed: u64, failed: u64) -> PassRate {
        PassRate {
            passed,
            failed,
            rate: Some(0.5),
            ..PassRate::default()
        }
    }

    #[test]
    fn an_estimate_of_runs_is_shown_as_the_report_has_it() {
        let (cell, said) = concluded(rated(500, 500), rated(10, 10), 9_700);
        assert_eq!(cell, "none visible yet: about 9,700 more runs");
        assert_eq!(
            said,
            "No difference is visible yet in the runs that people reviewed: to see a difference of \
             10 points takes about 9,700 more, or fewer with a larger share of runs without memories."
        );
        let (cell, said) = concluded(rated(10, 10), rated(9, 10), 390);
        assert_eq!(cell, "not enough runs yet: about 390 more");
        assert!(
            said.starts_with("Not enough runs are reviewed by people yet: "),
            "{said}"
        );
    }
}
