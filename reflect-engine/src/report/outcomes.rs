use reflect_types::{Arm, Conclusion, Difference, Outcomes, PassRate, Reviewer};

use crate::statistics::{Rate, difference, more_runs_needed};
use crate::store::Tally;

/// The fewest reviewed runs of an arm that a conclusion is drawn from.
pub const FEWEST: u64 = 20;
/// The half width of an interval that is narrow enough to say that there is no difference.
pub const NARROW: f64 = 0.1;

/// The runs of a project or of a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// All runs, reviewed or not.
    pub(super) runs: u64,
    /// Those of the arm with memories, reviewed or not.
    pub(super) drawn_memories: u64,
    /// Those of the control arm, reviewed or not.
    pub(super) drawn_control: u64,
    pub(super) people: Verdicts,
    pub(super) models: Verdicts,
    pub(super) programs: Verdicts,
}

/// Verdicts by the arm of their runs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Verdicts {
    pub(super) all: Rate,
    pub(super) memories: Rate,
    pub(super) control: Rate,
}

impl Counts {
    pub(super) fn add(&mut self, tally: &Tally) {
        self.runs += tally.runs;
        match tally.arm {
            Some(Arm::Control) => self.drawn_control += tally.runs,
            Some(Arm::Memories) => self.drawn_memories += tally.runs,
            _ => {}
        }
        let Some(verdict) = tally.verdict else { return };
        let side = match tally.reviewer {
            Reviewer::Model(_) => &mut self.models,
            Reviewer::Program => &mut self.programs,
            _ => &mut self.people,
        };
        side.all.count(verdict, tally.runs);
        match tally.arm {
            Some(Arm::Control) => side.control.count(verdict, tally.runs),
            Some(Arm::Memories) => side.memories.count(verdict, tally.runs),
            _ => {}
        }
    }

    /// What these verdicts of the runs show.
    pub(super) fn outcomes(&self, verdicts: Verdicts) -> Outcomes {
        let Verdicts {
            all,
            memories,
            control,
        } = verdicts;
        let share = control_share(self.drawn_memories, self.drawn_control);
        let (conclusion, difference, more_runs) = match share {
            None => (Conclusion::NoControlArm, None, None),
            Some(share) => compared(memories, control, share),
        };
        Outcomes {
            all: pass_rate(all),
            memories: pass_rate(memories),
            control: pass_rate(control),
            conclusion,
            difference,
            more_runs,
        }
    }
}

/// What the two arms show: a difference is shown once it is clear, or its interval is narrow.
fn compared(
    memories: Rate,
    control: Rate,
    share: f64,
) -> (Conclusion, Option<Difference>, Option<u64>) {
    if let Some((value, interval)) = difference(memories, control)
        && memories.runs().min(control.runs()) >= FEWEST
    {
        let shown = Difference {
            value,
            low: interval.low,
            high: interval.high,
        };
        if interval.low > 0.0 {
            return (Conclusion::Helps, Some(shown), None);
        }
        if interval.high < 0.0 {
            return (Conclusion::Harms, Some(shown), None);
        }
        if (interval.high - interval.low) / 2.0 <= NARROW {
            return (Conclusion::NoDifference, Some(shown), None);
        }
    }
    let narrow = more_runs_needed(memories, control, NARROW, share);
    let more = narrow.max(fewest_in_both(memories, control, share));
    (Conclusion::NotEnoughRuns, None, Some(two_digits(more)))
}

/// An estimate, rounded up to two digits: 9,700 for 9,698.
fn two_digits(estimate: u64) -> u64 {
    let digits = estimate.checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits.saturating_sub(1));
    estimate.div_ceil(unit).saturating_mul(unit)
}

/// The number of runs until both arms may be expected to have [`FEWEST`].
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "at most FEWEST over a share that is at least one in the number of runs"
)]
fn fewest_in_both(memories: Rate, control: Rate, share: f64) -> u64 {
    let until = |arm: Rate, share: f64| (FEWEST.saturating_sub(arm.runs()) as f64 / share).ceil();
    until(control, share).max(until(memories, 1.0 - share)) as u64
}

pub(super) fn pass_rate(rate: Rate) -> PassRate {
    let interval = rate.interval();
    PassRate {
        passed: rate.passed,
        failed: rate.failed,
        rate: rate.share(),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
    }
}

/// The share of the control arm, estimated from the drawn runs, reviewed or not, by the rule of succession: never 0
/// or 1. `None` without arms.
fn control_share(memories: u64, control: u64) -> Option<f64> {
    let arms = Rate {
        passed: control + 1,
        failed: memories + 1,
    };
    arms.share().filter(|_| memories + control > 0)
}
