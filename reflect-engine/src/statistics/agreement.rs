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

impl Agreement {
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
