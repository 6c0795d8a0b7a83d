//! The three kinds of memories.

/// How likely a memory is of each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Kinds {
    /// It hurts whatever the task.
    pub(crate) harmful: f64,
    /// It helps whatever the task.
    pub(crate) general: f64,
    /// It helps with tasks like its own, and hurts with others.
    pub(crate) specific: f64,
}

/// The effect of a harmful memory on the log-odds of a pass.
const HARM: f64 = -0.6;
/// The effect of a generally helpful one.
pub(super) const GENERAL_HELP: f64 = 0.35;

/// The effect of a memory on the log-odds of a pass: `lift + fit * curve(similarity)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Effect {
    /// The part that does not depend on the task.
    pub(crate) lift: f32,
    /// The weight of the part that does, from 0 to 1.
    pub(crate) fit: f32,
}

/// The effect of a harmful memory where a specific one has the effect `specific`: never the lesser harm, so
/// that a failure far from a memory's task does not speak for it.
pub(super) fn harm(specific: f64) -> f64 {
    HARM.min(specific)
}

/// The logarithms of how likely each kind is, up to a common term.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Weights {
    pub(super) harmful: f64,
    pub(super) general: f64,
    pub(super) specific: f64,
}

impl Weights {
    /// Those of a memory that no run was given.
    pub(super) fn of_untested() -> Self {
        Self {
            harmful: Kinds::UNTESTED.harmful.ln(),
            general: Kinds::UNTESTED.general.ln(),
            specific: Kinds::UNTESTED.specific.ln(),
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

impl Kinds {
    /// The share of each kind among memories that no run was given.
    pub(crate) const UNTESTED: Self = Self {
        harmful: 0.3,
        general: 0.15,
        specific: 0.55,
    };

    /// The expected effect where a specific memory has the effect `specific`.
    pub(super) fn expected(&self, specific: f64) -> f64 {
        self.harmful * harm(specific) + self.general * GENERAL_HELP + self.specific * specific
    }

    fn lift(&self) -> f64 {
        self.harmful * HARM + self.general * GENERAL_HELP
    }
}

impl Effect {
    /// That of a memory that no run was given.
    pub(crate) fn untested() -> Self {
        Kinds::UNTESTED.into()
    }
}

impl From<Kinds> for Effect {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the rounded numbers are the ones that rank"
    )]
    fn from(kinds: Kinds) -> Self {
        Self {
            lift: kinds.lift() as f32,
            fit: kinds.specific as f32,
        }
    }
}
