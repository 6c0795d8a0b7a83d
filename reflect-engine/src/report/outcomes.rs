use reflect_types::{Arm, Conclusion, Difference, Outcomes, PassRate};

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
        let side = if tally.model.is_some() {
            &mut self.models
        } else {
            &mut self.people
        };
        side.all.count(verdict, tally.runs);
        match tally.arm {
            Some(Arm::Control) => side.control.count(verdict, tally.runs),
            Some(Arm::Memories) => side.memories.count(verdict, tally.runs),
            _ => {}
        }
    }

    pub(super) fn people_outcomes(&self) -> Outcomes {
        self.outcomes(self.people)
    }

    pub(super) fn models_outcomes(&self) -> Outcomes {
        self.outcomes(self.models)
    }

    fn outcomes(&self, verdicts: Verdicts) -> Outcomes {
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
    let more = more_runs_needed(memories, control, NARROW, share);
    (Conclusion::NotEnoughRuns, None, Some(more))
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
