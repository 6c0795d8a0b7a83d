use reflect_types::{Arm, Conclusion, ModelVerdict, Reviewer, Verdict};

use super::*;
use crate::statistics::Rate;
use crate::store::MemoryTally;

fn tally(arm: Option<Arm>, verdict: Option<Verdict>, runs: u64) -> Tally {
    Tally {
        month: "2026-11".to_owned(),
        group: None,
        arm,
        verdict,
        reviewer: Reviewer::Human,
        overruled: None,
        runs,
    }
}

fn arms(with: (u64, u64), without: (u64, u64)) -> Vec<Tally> {
    let (memories, control) = (Some(Arm::Memories), Some(Arm::Control));
    vec![
        tally(memories.clone(), Some(Verdict::Pass), with.0),
        tally(memories, Some(Verdict::Fail), with.1),
        tally(control.clone(), Some(Verdict::Pass), without.0),
        tally(control, Some(Verdict::Fail), without.1),
    ]
}

#[test]
fn without_a_control_arm_nothing_is_concluded_about_memories() {
    let report = of_runs(
        &[
            tally(None, Some(Verdict::Pass), 70),
            tally(None, Some(Verdict::Fail), 30),
            tally(None, None, 5),
        ],
        None,
    );
    assert_eq!((report.traces, report.waiting), (105, 5));
    assert_eq!(report.people.all.rate, Some(0.7));
    assert_eq!(report.people.conclusion, Conclusion::NoControlArm);
    assert_eq!(
        (report.people.difference, report.people.more_runs),
        (None, None)
    );
}

#[test]
fn a_clear_difference_is_shown_with_its_interval() {
    let report = of_runs(&arms((56, 14), (48, 32)), None);
    assert_eq!(report.people.conclusion, Conclusion::Helps);
    let difference = report.people.difference.unwrap();
    assert!((difference.value - 0.2).abs() < 1e-9);
    assert!((difference.low - 0.0524).abs() < 5e-5 && (difference.high - 0.3339).abs() < 5e-5);
    let report = of_runs(&arms((48, 32), (56, 14)), None);
    assert_eq!(report.people.conclusion, Conclusion::Harms);
}

#[test]
fn too_few_runs_give_their_number_instead_of_a_difference() {
    for (with, without) in [((9, 1), (3, 7)), ((30, 30), (15, 15)), ((50, 40), (0, 0))] {
        let report = of_runs(&arms(with, without), None);
        assert_eq!(report.people.conclusion, Conclusion::NotEnoughRuns);
        assert_eq!(report.people.difference, None);
        // Also where no run was drawn for an arm yet.
        assert!((1..100_000).contains(&report.people.more_runs.unwrap()));
    }
}

#[test]
fn an_arm_with_too_few_runs_asks_for_more_however_narrow_the_interval() {
    let report = of_runs(&arms((500, 0), (17, 0)), None);
    assert_eq!(report.people.conclusion, Conclusion::NotEnoughRuns);
    // Three more of the control arm, which has 17 of 517 runs.
    assert!((80..100).contains(&report.people.more_runs.unwrap()));
}

#[test]
fn a_narrow_interval_around_zero_shows_no_difference() {
    let report = of_runs(&arms((500, 500), (500, 500)), None);
    assert_eq!(report.people.conclusion, Conclusion::NoDifference);
    assert!(report.people.difference.is_some());
}

#[test]
fn runs_that_wait_for_a_review_count_as_drawn_but_not_as_outcomes() {
    let waiting = tally(Some(Arm::Control), None, 9);
    let report = of_runs(&[waiting], None);
    assert_eq!(report.people.control.rate, None);
    assert_eq!(report.people.conclusion, Conclusion::NotEnoughRuns);
}

#[test]
fn models_count_apart_from_people_and_are_compared_with_them() {
    let judged = |runs| Tally {
        reviewer: Reviewer::model("m"),
        ..tally(None, Some(Verdict::Pass), runs)
    };
    let overruled = |said, verdict, runs| Tally {
        overruled: Some(ModelVerdict {
            model: "m".to_owned(),
            result: said,
        }),
        ..tally(None, Some(verdict), runs)
    };
    let (pass, fail) = (Verdict::Pass, Verdict::Fail);
    let report = of_runs(
        &[
            judged(7),
            overruled(pass, pass, 20),
            overruled(fail, fail, 15),
            overruled(pass, fail, 5),
            overruled(fail, pass, 10),
        ],
        None,
    );
    assert_eq!(
        (report.models.all.passed, report.people.all.passed),
        (7, 30)
    );
    let [judge] = &report.judges[..] else {
        unreachable!("{:?}", report.judges)
    };
    assert_eq!((judge.alone, judge.compared), (7, 50));
    assert!((judge.kappa.unwrap() - 0.4).abs() < 1e-9);
    assert!((judge.bias.unwrap() + 0.1).abs() < 1e-9);
    assert!((judge.step - 1.0).abs() < 1e-9);
}

#[test]
fn groups_are_ordered_by_runs_and_those_of_time_by_time() {
    let of = |value: &str, runs| Tally {
        group: Some(value.to_owned()),
        ..tally(None, Some(Verdict::Pass), runs)
    };
    let values = |by| {
        let report = of_runs(&[of("a", 1), of("b", 3), of("c", 2)], Some(by));
        let values = report.groups.into_iter().map(|group| group.value.unwrap());
        values.collect::<Vec<_>>().concat()
    };
    assert_eq!(values(&Grouping::Model), "bca");
    assert_eq!(values(&Grouping::Month), "abc");
    let many: Vec<_> = (0..150).map(|n| of(&format!("{n}"), 1)).collect();
    let report = of_runs(&many, Some(&Grouping::Model));
    assert_eq!((report.groups.len(), report.groups_left_out), (100, 50));
}

#[test]
fn memories_are_listed_if_their_runs_differ_clearly_from_the_others() {
    let used = |id: &str, passed, failed| MemoryTally {
        id: id.into(),
        task: String::new(),
        runs: Rate { passed, failed },
    };
    let (helpful, harmful) = helpful_and_harmful(vec![
        used("good", 30, 0),
        used("better", 60, 0),
        used("usual", 140, 60),
        used("also usual", 140, 60),
        used("few", 3, 2),
        used("bad", 1, 29),
    ]);
    let ids = |list: &[reflect_types::MemoryOutcome]| {
        list.iter()
            .map(|m| m.memory_id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&helpful), ["better", "good"]);
    assert_eq!(ids(&harmful), ["bad"]);
}
