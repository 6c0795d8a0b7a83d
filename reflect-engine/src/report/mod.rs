//! What the counts of a project's runs show. Pure.

mod memories;
mod outcomes;
#[cfg(test)]
mod tests;
mod usage;

use std::collections::BTreeMap;

use reflect_types::{Group, Grouping, JudgeAgreement, Month, Report};

pub(crate) use self::memories::{CONSIDERED, helpful_and_harmful};
use self::outcomes::Counts;
pub use self::outcomes::{FEWEST, NARROW};
pub(crate) use self::usage::by_model;
use crate::statistics::Agreement;
use crate::store::Tally;

/// The maximum number of groups.
const GROUPS: usize = 100;

/// The report of these runs, without memories.
pub fn of_runs(tallies: &[Tally], by: Option<&Grouping>) -> Report {
    let mut all = Counts::default();
    let mut groups: BTreeMap<Option<&str>, Counts> = BTreeMap::new();
    let mut months: BTreeMap<&str, Counts> = BTreeMap::new();
    let (mut traces, mut waiting) = (0, 0);
    for tally in tallies {
        traces += tally.runs;
        if tally.verdict.is_none() {
            waiting += tally.runs;
        }
        all.add(tally);
        months.entry(&tally.month).or_default().add(tally);
        if by.is_some() {
            groups.entry(tally.group.as_deref()).or_default().add(tally);
        }
    }
    let months = months.into_iter().map(|(month, counts)| Month {
        month: month.to_owned(),
        people: outcomes::pass_rate(counts.people.all),
        models: outcomes::pass_rate(counts.models.all),
    });
    let groups_left_out = groups.len().saturating_sub(GROUPS);
    Report {
        traces,
        waiting,
        people: all.outcomes(all.people),
        models: all.outcomes(all.models),
        groups: grouped(groups, by),
        groups_left_out: groups_left_out.try_into().unwrap_or(u64::MAX),
        months: months.collect(),
        judges: judges(tallies),
        ..Report::default()
    }
}

/// The groups in order of time, or most runs first.
fn grouped(groups: BTreeMap<Option<&str>, Counts>, by: Option<&Grouping>) -> Vec<Group> {
    let mut groups: Vec<_> = groups.into_iter().collect();
    if matches!(by, Some(Grouping::Month | Grouping::Day)) {
        // The last ones.
        let first = groups.len().saturating_sub(GROUPS);
        groups.drain(..first);
    } else {
        groups.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.runs));
        groups.truncate(GROUPS);
    }
    let group = |(value, counts): (Option<&str>, Counts)| Group {
        value: value.map(ToOwned::to_owned),
        people: counts.outcomes(counts.people),
        models: counts.outcomes(counts.models),
    };
    groups.into_iter().map(group).collect()
}

/// The models that reviewed runs of the period, by name.
fn judges(tallies: &[Tally]) -> Vec<JudgeAgreement> {
    let mut judges: BTreeMap<&str, (u64, Agreement)> = BTreeMap::new();
    for tally in tallies {
        if let (Some(overruled), Some(verdict)) = (&tally.overruled, tally.verdict) {
            let (_, agreement) = judges.entry(&overruled.model).or_default();
            agreement.add(overruled.result, verdict, tally.runs);
        } else if let (Some(model), Some(_)) = (&tally.model, tally.verdict) {
            judges.entry(model).or_default().0 += tally.runs;
        }
    }
    let judges = judges
        .into_iter()
        .map(|(judge, (alone, agreement))| JudgeAgreement {
            judge: judge.to_owned(),
            alone,
            compared: agreement.traces(),
            agreement: agreement.observed(),
            kappa: agreement.kappa(),
            bias: agreement.bias(),
            step: agreement.step(),
            both_pass: agreement.both_passed,
            both_fail: agreement.both_failed,
            wrongly_passed: agreement.only_model_passed,
            wrongly_failed: agreement.only_person_passed,
        });
    judges.collect()
}
