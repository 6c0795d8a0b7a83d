use reflect_types::Reflection;

use super::port::JudgedRun;
use super::prose;

/// The maximum length of the reviewer's words, in characters.
const MAX_FEEDBACK: usize = 2_000;

/// The reflection of a run, whichever writer it is from, with the reviewer's words.
pub(crate) fn finish(reflection: Reflection, run: &JudgedRun<'_>) -> Reflection {
    Reflection {
        feedback: prose::verbatim(run.feedback.unwrap_or_default(), MAX_FEEDBACK),
        ..reflection
    }
}
