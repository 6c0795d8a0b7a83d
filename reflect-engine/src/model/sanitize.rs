use reflect_types::Reflection;

use super::prose;

/// The reflection with no text that could pass for a tag. It is written from a run's text, which may
/// be hostile, and some clients put it into prompts as it is.
pub(crate) fn without_tags(reflection: Reflection) -> Reflection {
    let each = |texts: Vec<String>| texts.iter().map(|text| prose::without_tags(text)).collect();
    Reflection {
        summary: prose::without_tags(&reflection.summary),
        key_mistake: prose::without_tags(&reflection.key_mistake),
        correct_action: prose::without_tags(&reflection.correct_action),
        guidance: prose::without_tags(&reflection.guidance),
        applicable_tools: each(reflection.applicable_tools),
        tools_used: each(reflection.tools_used),
    }
}
