//! The three kinds of memories.

/// How likely a memory is of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Kinds {
    /// It hurts at any task.
    pub(crate) harmful: f64,
    /// It helps at any task.
    pub(crate) general: f64,
    /// It helps with tasks like its own, and hurts with others.
    pub(crate) specific: f64,
}

/// The effect of a harmful memory on the log-odds of a pass.
pub(super) const HARM: f64 = -0.6;
/// The effect of a generally helpful one.
pub(super) const GENERAL_HELP: f64 = 0.35;

impl Kinds {
    /// The expected effect, and its variance, where a specific memory has the effect `specific`.
    pub(super) fn effect(&self, specific: f64) -> (f64, f64) {
        let mean = self.harmful * HARM + self.general * GENERAL_HELP + self.specific * specific;
        let far = |effect: f64| (effect - mean) * (effect - mean);
        let variance = self.harmful * far(HARM)
            + self.general * far(GENERAL_HELP)
            + self.specific * far(specific);
        (mean, variance)
    }

    /// Adds a part of another.
    pub(super) fn add(&mut self, other: Self, share: f64) {
        self.harmful += share * other.harmful;
        self.general += share * other.general;
        self.specific += share * other.specific;
    }
}

/// The logarithms of how likely each kind is, up to a common term.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Weights {
    pub(super) harmful: f64,
    pub(super) general: f64,
    pub(super) specific: f64,
}

impl Weights {
    pub(super) fn of(kinds: Kinds) -> Self {
        Self {
            harmful: kinds.harmful.ln(),
            general: kinds.general.ln(),
            specific: kinds.specific.ln(),
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            harmful: self.harmful + other.harmful,
            general: self.general + other.general,
            specific: self.specific + other.specific,
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            harmful: self.harmful - other.harmful,
            general: self.general - other.general,
            specific: self.specific - other.specific,
        }
    }

    pub(super) fn kinds(self) -> Kinds {
        let most = self.harmful.max(self.general).max(self.specific);
        let [harmful, general, specific] =
            [self.harmful, self.general, self.specific].map(|weight| (weight - most).exp());
        let sum = harmful + general + specific;
        Kinds {
            harmful: harmful / sum,
            general: general / sum,
            specific: specific / sum,
        }
    }
}
