//! Is it learning?

mod figures;
mod tables;

use askama::Template;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use reflect_types::{GetReport, Group, MemoryHistory, MemoryRecord, Outcomes, Report};

use self::figures::{Figure, answer};
use self::tables::{JudgeRow, MemoryRow, SideRow, TimeRow, UsageRow};
use super::FirstTrace;
use crate::frame::Frame;
use crate::rate_plot::{self, RatePlot};
use crate::text::{count, grouped, percent};
use crate::timeline::{Interval, Step, intervals};

/// The size of the plot on a screen and on a phone.
const WIDE: (f64, f64) = (1000.0, 250.0);
const NARROW: (f64, f64) = (360.0, 220.0);
/// The reviewed runs of a day, on average, from which days are plotted instead of weeks.
const RUNS_PER_DAY: u64 = 100;

/// The period of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportPeriod {
    /// The last four weeks.
    FourWeeks,
    /// The last twelve weeks.
    TwelveWeeks,
    /// All runs.
    All,
}

/// The value in the address and the label of each period.
const PERIODS: [(ReportPeriod, &str, &str); 3] = [
    (ReportPeriod::FourWeeks, "", "4 weeks"),
    (ReportPeriod::TwelveWeeks, "12", "12 weeks"),
    (ReportPeriod::All, "all", "All time"),
];

impl ReportPeriod {
    /// The period that an address names; four weeks unless it names another one.
    pub fn parse(weeks: &str) -> Self {
        let named = PERIODS.iter().find(|(_, value, _)| *value == weeks);
        named.map_or(Self::FourWeeks, |(period, ..)| *period)
    }

    /// The report that the page shows, at `now`.
    pub fn query(self, now: Timestamp) -> GetReport {
        let since = self.days().map(|days| {
            let first = today(now).saturating_sub(jiff::Span::new().days(days - 1));
            format!("{first}T00:00:00Z")
        });
        let by = if self == Self::All { "month" } else { "day" };
        GetReport {
            since,
            until: None,
            by: Some(by.to_owned()),
        }
    }

    fn days(self) -> Option<i32> {
        match self {
            Self::FourWeeks => Some(28),
            Self::TwelveWeeks => Some(84),
            Self::All => None,
        }
    }

    fn step(self, reviewed: u64) -> Step {
        match self {
            Self::FourWeeks if reviewed >= 28 * RUNS_PER_DAY => Step::Day,
            Self::All => Step::Month,
            _ => Step::Week,
        }
    }
}

/// What the page is made of.
#[derive(Clone, Copy, Debug)]
pub struct ReportSource<'a> {
    /// The period.
    pub period: ReportPeriod,
    /// The report of [its query](ReportPeriod::query).
    pub report: &'a Report,
    /// The memories that the report names, as far as the visitor may read them.
    pub memories: &'a [MemoryRecord],
    /// The newest memories that are set aside, as far as the visitor may read them.
    pub aside: &'a [MemoryHistory],
    /// Whether the project has a trace at all.
    pub has_traces: bool,
}

/// The report.
#[derive(Debug, Template)]
#[template(path = "report.html")]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a condition of the template"
)]
pub struct ReportPage {
    frame: Frame,
    has_aside: bool,
    /// The address, the label and whether it is shown, of each period.
    periods: Vec<(String, &'static str, bool)>,
    summary: String,
    answer: String,
    figures: Vec<Figure>,
    step: &'static str,
    has_control: bool,
    plots: Vec<RatePlot>,
    /// What the plot shows.
    description: String,
    /// Whether the table has values that the plot leaves out.
    leaves_out: bool,
    times: Vec<TimeRow>,
    sides: Vec<SideRow>,
    helpful: Vec<MemoryRow>,
    harmful: Vec<MemoryRow>,
    judges: Vec<JudgeRow>,
    usage: Vec<UsageRow>,
    has_traces: bool,
    has_reviews: bool,
    first: FirstTrace,
}

impl ReportPage {
    /// The page.
    pub fn new(frame: Frame, source: ReportSource<'_>, first: FirstTrace, now: Timestamp) -> Self {
        let ReportSource { period, report, .. } = source;
        let side = Side::of(report);
        let outcomes = side.outcomes;
        let reviewed = runs(outcomes);
        let has_arms = !matches!(outcomes.conclusion, reflect_types::Conclusion::NoControlArm);
        let step = period.step(reviewed);
        let times = intervals(&report.groups, side.of_group, has_arms, step, today(now));
        let plots = [("wide", WIDE), ("narrow", NARROW)];
        let plots = plots.into_iter();
        let has_control = times.iter().any(|time| time.control.runs() > 0);
        Self {
            periods: PERIODS
                .iter()
                .map(|(each, value, label)| {
                    let page = frame.to("report");
                    let query = crate::path::query(&[("weeks", value)]);
                    (format!("{page}{query}"), *label, *each == period)
                })
                .collect(),
            summary: summary(period, outcomes),
            answer: answer(outcomes, side.name),
            figures: figures::figures(&frame, report, outcomes, &times),
            step: step.name(),
            has_control,
            plots: plots
                .filter_map(|(name, size)| RatePlot::new(name, size, &times))
                .collect(),
            description: description(&times, has_arms),
            leaves_out: times.iter().any(rate_plot::leaves_out),
            times: times.iter().map(TimeRow::new).collect(),
            sides: [("people", &report.people), ("models", &report.models)]
                .into_iter()
                .filter(|(_, outcomes)| runs(outcomes) > 0)
                .map(|(name, outcomes)| SideRow::new(name, outcomes))
                .collect(),
            helpful: report
                .helpful
                .iter()
                .map(|outcome| MemoryRow::given(&frame, outcome, source.memories))
                .collect(),
            harmful: report
                .harmful
                .iter()
                .map(|outcome| MemoryRow::given(&frame, outcome, source.memories))
                .chain(source.aside.iter().map(|h| MemoryRow::aside(&frame, h)))
                .collect(),
            has_aside: !source.aside.is_empty(),
            judges: report.judges.iter().map(JudgeRow::new).collect(),
            usage: report.usage.iter().map(UsageRow::new).collect(),
            has_traces: source.has_traces,
            has_reviews: reviewed > 0,
            frame: frame.on("report"),
            first,
        }
    }
}

/// Whose reviews the page is about: those of people, unless only models have reviewed.
struct Side<'a> {
    name: &'static str,
    outcomes: &'a Outcomes,
    of_group: fn(&Group) -> &Outcomes,
}

impl<'a> Side<'a> {
    fn of(report: &'a Report) -> Self {
        if runs(&report.people) == 0 && runs(&report.models) > 0 {
            return Self {
                name: "models",
                outcomes: &report.models,
                of_group: |group| &group.models,
            };
        }
        Self {
            name: "people",
            outcomes: &report.people,
            of_group: |group| &group.people,
        }
    }
}

fn runs(outcomes: &Outcomes) -> u64 {
    outcomes.all.passed + outcomes.all.failed
}

fn today(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}

/// Such as `Last 4 weeks · 1,284 reviewed runs · 10 % without memories, as a control`.
fn summary(period: ReportPeriod, outcomes: &Outcomes) -> String {
    let period = match period {
        ReportPeriod::FourWeeks => "Last 4 weeks",
        ReportPeriod::TwelveWeeks => "Last 12 weeks",
        ReportPeriod::All => "All time",
    };
    let reviewed = match runs(outcomes) {
        1 => "1 reviewed run".to_owned(),
        runs => format!("{} reviewed runs", grouped(runs)),
    };
    let control = outcomes.control.passed + outcomes.control.failed;
    let arms = control + outcomes.memories.passed + outcomes.memories.failed;
    if control == 0 {
        return format!("{period} · {reviewed}");
    }
    #[expect(clippy::cast_precision_loss, reason = "counts of runs are below 2^53")]
    let share = percent(control as f64 / arms as f64);
    format!("{period} · {reviewed} · {share} without memories, as a control")
}

/// What the plot shows, in words.
fn description(times: &[Interval], has_arms: bool) -> String {
    let share = |interval: &Interval| interval.runs.share().map(percent);
    let with: Vec<_> = times.iter().filter(|time| time.runs.runs() > 0).collect();
    let (Some(first), Some(last)) = (with.first(), with.last()) else {
        return "No run with memories has a review".to_owned();
    };
    let what = if has_arms {
        "Pass rate with memories"
    } else {
        "Pass rate"
    };
    let (from, to) = (
        share(first).unwrap_or_default(),
        share(last).unwrap_or_default(),
    );
    if first == last {
        return format!("{what}: {to} since {}", last.label);
    }
    let values = count(with.len(), "value", "values");
    format!(
        "{what}: from {from} at {} to {to} at {}, {values}",
        first.label, last.label
    )
}
