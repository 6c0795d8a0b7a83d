//! Replaces values that identify a person or a case by their role.

mod case;
mod found;
mod keys;
mod mail;
mod names;
mod number;
mod patterns;
#[cfg(test)]
mod tests;
mod values;

use reflect_types::Reflection;

use self::values::Values;
use super::port::JudgedRun;

/// The text with roles for the values that show by their form, in any run.
pub(crate) fn roles_by_form(text: &str) -> String {
    patterns::replace(text)
}

/// The personal values of a run that its memory would say.
/// The section on personal values of `docs/memories.md` lists what counts.
#[derive(Debug, Default)]
pub(crate) struct PersonalValues(Values);

impl PersonalValues {
    /// The values in the task and in a reflection on the run.
    pub(crate) fn of(run: &JudgedRun<'_>, reflection: &Reflection) -> Self {
        Self(Values::of(run, &reflection.text()))
    }

    /// The text with roles for values.
    pub(crate) fn replace_in(&self, text: &str) -> String {
        self.0.replace(&patterns::replace(&self.0.replace(text)))
    }

    /// The reflection with roles for values in all its texts.
    pub(crate) fn replace(&self, reflection: Reflection) -> Reflection {
        let each = |text: String| self.replace_in(&text);
        Reflection {
            feedback: each(reflection.feedback),
            summary: each(reflection.summary),
            key_mistake: each(reflection.key_mistake),
            correct_action: each(reflection.correct_action),
            guidance: each(reflection.guidance),
            ..reflection
        }
    }
}
