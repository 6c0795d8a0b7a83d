//! Pass rates over time, from the groups of a report.

use std::collections::BTreeMap;

use jiff::civil::Date;
use reflect_engine::statistics::Rate;
use reflect_types::{Group, Outcomes, PassRate};

/// The length of an interval on the time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Day,
    Week,
    Month,
}

impl Step {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// The reviewed runs of a day, a week or a month.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Interval {
    /// Its place on the axis: neighbours differ by one.
    pub(crate) place: i32,
    /// Its beginning, such as `3 Nov`.
    pub(crate) label: String,
    /// The runs with memories, or all of them if no run is in an arm.
    pub(crate) runs: Rate,
    /// The runs of the control arm.
    pub(crate) control: Rate,
}

/// The intervals that have a reviewed run, oldest first. The groups are of days, or of months for
/// [`Step::Month`]; weeks are counted back from `today`.
pub(crate) fn intervals(
    groups: &[Group],
    side: fn(&Group) -> &Outcomes,
    has_arms: bool,
    step: Step,
    today: Date,
) -> Vec<Interval> {
    let mut found: BTreeMap<i32, Interval> = BTreeMap::new();
    for group in groups {
        let Some((place, start)) = group.value.as_deref().and_then(|v| placed(v, step, today))
        else {
            continue;
        };
        let outcomes = side(group);
        let (runs, control) = if has_arms {
            (rate(outcomes.memories), rate(outcomes.control))
        } else {
            (rate(outcomes.all), Rate::default())
        };
        if runs.runs() + control.runs() == 0 {
            continue;
        }
        let interval = found.entry(place).or_insert_with(|| Interval {
            place,
            label: start.strftime(format(step)).to_string(),
            runs: Rate::default(),
            control: Rate::default(),
        });
        interval.runs = sum(interval.runs, runs);
        interval.control = sum(interval.control, control);
    }
    found.into_values().collect()
}

/// The place of a group on the axis, and the first day of its interval.
fn placed(value: &str, step: Step, today: Date) -> Option<(i32, Date)> {
    if step == Step::Month {
        let first: Date = format!("{value}-01").parse().ok()?;
        return Some((
            i32::from(first.year()) * 12 + i32::from(first.month()),
            first,
        ));
    }
    let date: Date = value.parse().ok()?;
    let back = (today - date).get_days();
    let length = if step == Step::Week { 7 } else { 1 };
    let place = -back.div_euclid(length);
    let start = today.checked_add(jiff::Span::new().days(place * length - (length - 1)));
    Some((place, start.ok()?))
}

fn format(step: Step) -> &'static str {
    match step {
        Step::Day | Step::Week => "%-d %b",
        Step::Month => "%b %Y",
    }
}

fn rate(rate: PassRate) -> Rate {
    Rate {
        passed: rate.passed,
        failed: rate.failed,
    }
}

fn sum(a: Rate, b: Rate) -> Rate {
    Rate {
        passed: a.passed + b.passed,
        failed: a.failed + b.failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(value: &str, passed: u64, failed: u64) -> Group {
        let all = PassRate {
            passed,
            failed,
            ..PassRate::default()
        };
        Group {
            value: Some(value.to_owned()),
            people: Outcomes {
                all,
                ..Outcomes::default()
            },
            models: Outcomes::default(),
            programs: Outcomes::default(),
        }
    }

    fn found(groups: &[Group], step: Step) -> Vec<(i32, String, u64)> {
        let today = "2026-11-16".parse().unwrap();
        intervals(groups, |group| &group.people, false, step, today)
            .into_iter()
            .map(|interval| (interval.place, interval.label, interval.runs.runs()))
            .collect()
    }

    #[test]
    fn a_week_ends_today_and_has_the_runs_of_its_days() {
        let groups = [
            group("2026-11-02", 1, 0),
            group("2026-11-10", 2, 0),
            group("2026-11-16", 1, 3),
            group("2026-11-14", 0, 0),
        ];
        assert_eq!(
            found(&groups, Step::Week),
            [(-2, "27 Oct".to_owned(), 1), (0, "10 Nov".to_owned(), 6)]
        );
        assert_eq!(found(&groups, Step::Day)[1], (-6, "10 Nov".to_owned(), 2));
    }

    #[test]
    fn months_are_apart_by_their_number() {
        let groups = [group("2025-11", 1, 0), group("2026-02", 1, 0)];
        let found = found(&groups, Step::Month);
        assert_eq!(found[1].0 - found[0].0, 3);
        assert_eq!(found[0].1, "Nov 2025");
    }
}
