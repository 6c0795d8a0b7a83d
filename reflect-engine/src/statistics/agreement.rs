use reflect_types::Verdict;

use super::rate::number;

/// The verdicts of a model and a person on the same traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Both said pass.
    pub both_passed: u64,
    /// Both said fail.
    pub both_failed: u64,
    /// The model said pass, the person fail.
    pub only_model_passed: u64,
    /// The person said pass, the model fail.
    pub only_person_passed: u64,
}

/// The kappa below which a model agrees too little: "moderate" agreement begins here in the scale of
/// Landis and Koch, "The measurement of observer agreement for categorical data", Biometrics 33 (1977).
const LEAST: f64 = 0.4;
/// The smallest step of a model that disagrees.
const SMALLEST_STEP: f64 = 0.1;

impl Agreement {
    /// The fewest traces from which a model's agreement is judged.
    pub const FEWEST: u64 = 20;

    /// Counts traces with these verdicts.
    pub fn add(&mut self, model: Verdict, person: Verdict, traces: u64) {
        let counter = match (model, person) {
            (Verdict::Pass, Verdict::Pass) => &mut self.both_passed,
            (Verdict::Fail, Verdict::Fail) => &mut self.both_failed,
            (Verdict::Pass, Verdict::Fail) => &mut self.only_model_passed,
            (Verdict::Fail, Verdict::Pass) => &mut self.only_person_passed,
            // Of a newer version.
            _ => return,
        };
        *counter += traces;
    }

    /// The factor of the `alpha` of the model's reviews: 1, unless 20 compared traces or more show a kappa
    /// below 0.4. Then it is in proportion to the kappa, and at least 0.1.
    pub fn step(self) -> f64 {
        match self.kappa() {
            Some(kappa) if self.traces() >= Self::FEWEST => {
                (kappa / LEAST).clamp(SMALLEST_STEP, 1.0)
            }
            _ => 1.0,
        }
    }

    /// The number of traces.
    pub fn traces(self) -> u64 {
        self.both_passed + self.both_failed + self.only_model_passed + self.only_person_passed
    }

    /// The share of traces on which the two agree; `None` without traces.
    pub fn observed(self) -> Option<f64> {
        let traces = self.traces();
        let same = self.both_passed + self.both_failed;
        (traces > 0).then(|| number(same) / number(traces))
    }

    /// Cohen's kappa: the agreement beyond chance, from -1 to 1. `None` where chance alone agrees on
    /// every trace, so where both gave one and the same verdict throughout.
    pub fn kappa(self) -> Option<f64> {
        let observed = self.observed()?;
        let n = number(self.traces());
        let model = number(self.both_passed + self.only_model_passed) / n;
        let person = number(self.both_passed + self.only_person_passed) / n;
        let chance = model * person + (1.0 - model) * (1.0 - person);
        let room = 1.0 - chance;
        (room > f64::EPSILON).then(|| (observed - chance) / room)
    }

    /// How much more often the model says pass than the person, from -1 to 1; `None` without traces.
    pub fn bias(self) -> Option<f64> {
        let traces = self.traces();
        (traces > 0).then(|| {
            (number(self.only_model_passed) - number(self.only_person_passed)) / number(traces)
        })
    }
}
