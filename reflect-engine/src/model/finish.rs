use reflect_types::Reflection;

use super::personal::PersonalValues;
use super::port::JudgedRun;
use super::prose;

/// The maximum length of the reviewer's words, in characters.
const MAX_FEEDBACK: usize = 2_000;

/// The reflection as it is stored, whichever writer it is from: with the reviewer's words, without
/// personal values unless they are kept, and without text that could pass for a tag. It is written
/// from a run's text, which may be hostile, and some clients put it into prompts as it is.
pub(crate) fn finish(
    reflection: Reflection,
    run: &JudgedRun<'_>,
    keep_personal: bool,
) -> Reflection {
    let reflection = Reflection {
        feedback: prose::verbatim(run.feedback.unwrap_or_default(), MAX_FEEDBACK),
        ..reflection
    };
    let reflection = if keep_personal {
        reflection
    } else {
        PersonalValues::of(run).replace(reflection)
    };
    let each = |texts: Vec<String>| texts.iter().map(|text| prose::without_tags(text)).collect();
    Reflection {
        feedback: prose::without_tags(&reflection.feedback),
        summary: prose::without_tags(&reflection.summary),
        key_mistake: prose::without_tags(&reflection.key_mistake),
        correct_action: prose::without_tags(&reflection.correct_action),
        guidance: prose::without_tags(&reflection.guidance),
        applicable_tools: each(reflection.applicable_tools),
        tools_used: each(reflection.tools_used),
        written_by: reflection.written_by,
    }
}
